import { describe, expect, test } from 'vitest';
import { createFirstOwner, needsFirstOwner, setupCode } from '#shared/people/members/first-owner.ts';
import { organizationsOf } from '#shared/people/members/memberships.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import { newEmail, outcomesOf, usePeople } from '../../support/people.ts';

const password = 'the first password';
const alreadySetUp = { code: 'validation_error', message: expect.stringMatching(/already set up/) };

function candidate(code: string, ip = '192.0.2.1') {
  return { code, organizationName: 'Acme Inc', email: newEmail(), password, ip };
}

describe('creating the first owner', () => {
  const people = usePeople();
  const code = () => setupCode(people.deps.settings.ENCRYPTION_KEY);

  test('requires the code and locks a network after five wrong ones', async () => {
    expect(await needsFirstOwner(people.deps.db)).toBe(true);
    for (let count = 0; count < 5; count += 1) {
      const guess = createFirstOwner(people.deps, candidate(`AAAA-BBBB-CCC${count}`));
      const refusal = { code: 'validation_error', message: expect.stringMatching(/^code: /) };
      await expect(guess).rejects.toMatchObject(refusal);
    }
    const locked = { code: 'rate_limited', retryAfterSeconds: 30 };
    await expect(createFirstOwner(people.deps, candidate(code()))).rejects.toMatchObject(locked);
    const elsewhere = createFirstOwner(people.deps, candidate('AAAA-BBBB-CCCC', '192.0.2.2'));
    await expect(elsewhere).rejects.toMatchObject({ code: 'validation_error' });
    people.time.ms += 60_000;
    expect(await people.deps.db.organization.count()).toBe(0);
  });

  test('succeeds for exactly one of several concurrent attempts, and never again', async () => {
    const typed = code().toLowerCase().replaceAll('-', ' ');
    // Of a network without earlier failures: after those, one attempt at a time is checked.
    const candidates = [1, 2, 3, 4].map(() => candidate(typed, '192.0.2.3'));
    const { done, refusals } = await outcomesOf(
      candidates.map((each) => createFirstOwner(people.deps, each)),
    );
    expect(done).toBe(1);
    for (const refusal of refusals) expect(refusal).toMatchObject(alreadySetUp);
    const users = await people.deps.db.user.findMany();
    expect(users).toHaveLength(1);
    const { id = '', email = '' } = users[0] ?? {};
    const organizations = await organizationsOf(people.deps.db, id);
    expect(organizations).toMatchObject([{ name: 'Acme Inc', role: 'owner' }]);
    expect((await signIn(people.deps, { email, password })).kind).toBe('signed-in');
    expect(await people.deps.db.organization.count()).toBe(1);
    expect(await people.deps.db.policy.count()).toBe(1);
    expect(await people.audited(id)).toEqual(['user.created']);
    expect(await needsFirstOwner(people.deps.db)).toBe(false);
    await expect(createFirstOwner(people.deps, candidate(code()))).rejects.toMatchObject(alreadySetUp);
  });
});
