import { describe, expect, test } from 'vitest';
import { createFirstOwner, needsFirstOwner, setupCode } from '../../../shared/people/first-owner.ts';
import { organizationsOf } from '../../../shared/people/members.ts';
import { signIn } from '../../../shared/people/sign-in.ts';
import { createUser } from '../../../shared/people/users.ts';
import { newEmail, outcomesOf, usePeople } from '../../support/people.ts';

const password = 'the first password';

function candidate(code: string) {
  return { code, organizationName: 'Acme Inc', email: newEmail(), password };
}

test('the code is the same for all processes with the same key, easy to read, and another one for another key', () => {
  const code = setupCode('a key');
  expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}(-[A-HJ-NP-Z2-9]{4}){2}$/);
  expect(setupCode('a key')).toBe(code);
  const codes = Array.from({ length: 200 }, (_, at) => setupCode(`key ${at}`));
  expect(new Set(codes).size).toBe(200);
});

describe('the first owner', () => {
  const people = usePeople();
  const code = () => setupCode(people.deps.settings.ENCRYPTION_KEY);

  test('is nobody without the code, and guesses at it are locked out', async () => {
    expect(await needsFirstOwner(people.deps.db)).toBe(true);
    for (let count = 0; count < 5; count += 1) {
      const guess = createFirstOwner(people.deps, candidate(`AAAA-BBBB-CCC${count}`));
      await expect(guess).rejects.toMatchObject({
        code: 'validation_error',
        message: expect.stringMatching(/^code: /),
      });
    }
    const locked = { code: 'rate_limited', retryAfterSeconds: 30 };
    await expect(createFirstOwner(people.deps, candidate(code()))).rejects.toMatchObject(locked);
    people.time.ms += 30_000;
    expect(await people.deps.db.organization.count()).toBe(0);
  });

  test('is nobody with a bad name, address or password, and nothing is left of the try', async () => {
    const bad = [{ organizationName: ' ' }, { email: 'nobody' }, { password: 'short' }];
    for (const change of bad) {
      const tried = createFirstOwner(people.deps, { ...candidate(code()), ...change });
      await expect(tried).rejects.toMatchObject({ code: 'validation_error' });
    }
    expect(await people.deps.db.organization.count()).toBe(0);
    expect(await needsFirstOwner(people.deps.db)).toBe(true);
  });

  test('is one of all who try at the same moment, with one organization', async () => {
    const typed = code().toLowerCase().replaceAll('-', ' ');
    const candidates = [1, 2, 3, 4].map(() => candidate(typed));
    const { done, refusals } = await outcomesOf(
      candidates.map((each) => createFirstOwner(people.deps, each)),
    );
    expect(done).toBe(1);
    for (const { message } of refusals) expect(message).toMatch(/set up already/);
    const [user, ...others] = await people.deps.db.user.findMany();
    expect(others).toEqual([]);
    expect(await organizationsOf(people.deps.db, user?.id ?? '')).toMatchObject([
      { name: 'Acme Inc', role: 'owner' },
    ]);
    expect((await signIn(people.deps, { email: user?.email ?? '', password })).kind).toBe('signed-in');
    expect(await people.deps.db.organization.count()).toBe(1);
    expect(await people.deps.db.policy.count()).toBe(1);
    expect(await people.audited(user?.id ?? '')).toEqual(['user.created']);
  });

  test('is never made again', async () => {
    expect(await needsFirstOwner(people.deps.db)).toBe(false);
    const late = createFirstOwner(people.deps, candidate(code()));
    await expect(late).rejects.toMatchObject({
      code: 'validation_error',
      message: expect.stringMatching(/set up already/),
    });
  });
});

describe('a person whom the administration adds at the same moment', () => {
  const people = usePeople();

  test('is either seen by the first owner, or comes after', async () => {
    const organizationId = await people.addOrganization();
    const added = createUser(people.deps, {
      organizationId,
      email: newEmail(),
      password,
      role: 'owner',
      actor: 'cli:test',
    });
    const first = createFirstOwner(people.deps, candidate(setupCode(people.deps.settings.ENCRYPTION_KEY)));
    const { refusals } = await outcomesOf([added, first]);
    for (const { message } of refusals) expect(message).toMatch(/set up already/);
    const users = await people.deps.db.user.findMany({ orderBy: { id: 'asc' } });
    expect(users.length + refusals.length).toBe(2);
  });
});
