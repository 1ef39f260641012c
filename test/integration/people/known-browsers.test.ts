import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { knownBrowserCookie } from '#shared/people/sign-in/known-browsers.ts';
import { resetPassword } from '#shared/people/sign-in/passwords.ts';
import { proofOf, type TestPerson, usePeople } from '../../support/people.ts';
import { refused, signInTriesOf, wrongPassword } from '../../support/sign-in-tries.ts';

const people = usePeople();
const dayMs = 24 * 60 * 60 * 1000;
let organizationId: string;

beforeAll(async () => {
  organizationId = await people.addOrganization();
});

const addPerson = () => people.addPerson(organizationId, 'viewer');
const { tryPassword, kindOf, failTimes } = signInTriesOf(people);

describe('a known browser', () => {
  const tokenOf = async ({ userId }: TestPerson) =>
    knownBrowserCookie(people.deps, await proofOf(people.deps.db, userId));
  const reset = ({ userId, email }: TestPerson, password: string) =>
    resetPassword(people.deps, { user: { userId, email }, password, actor: 'test' });
  let member: TestPerson;
  let browser: string;
  beforeEach(async () => {
    member = await addPerson();
    browser = await tokenOf(member);
  });

  test("is not locked by other people's wrong passwords, who stay locked", async () => {
    await failTimes(member.email, 5);
    expect(await kindOf(member)).toBe('locked');
    expect(await kindOf(member, browser)).toBe('signed-in');
    expect(await kindOf(member)).toBe('locked');
  });

  test('counts as unknown after a hundred wrong passwords of its own in a row', async () => {
    await failTimes(member.email, 5);
    const start = await people.deps.db.lockout.count();
    await failTimes(member.email, 1, browser);
    expect(await people.deps.db.lockout.count()).toBe(start + 1);
    await people.deps.db.lockout.updateMany({
      where: { failures: 1, lockedUntil: null },
      data: { failures: 99 },
    });
    expect(await tryPassword(member.email, wrongPassword, browser)).toEqual(refused);
    expect(await kindOf(member, browser)).toBe('locked');
    expect(await kindOf(member, await tokenOf(member))).toBe('signed-in');
  });

  test('is known for the last five users who signed in with it', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, addPerson));
    let shared = browser;
    for (const { userId } of others) {
      shared = knownBrowserCookie(people.deps, await proofOf(people.deps.db, userId), shared);
    }
    for (const each of [member, ...others]) await failTimes(each.email, 5);
    expect(await kindOf(member, shared)).toBe('locked');
    for (const each of others) expect(await kindOf(each, shared), each.email).toBe('signed-in');
  });

  test.for<[string, (token: string) => Promise<string> | string]>([
    ['of another user', async () => await tokenOf(await addPerson())],
    ['with a changed name', (token) => token.replace(/^[^.]+/, 'x'.repeat(22))],
    ['with a changed expiry', (token) => token.replace(/\.\d{13}\./, '.99999999999999.')],
    ['without a signature', (token) => token.replace(/[^.]+$/, '')],
    ['of malformed text', () => `${'x'.repeat(5_000)}.~.\u0000; Path=/`],
    [
      'from before a password change',
      async (token) => {
        await reset(member, 'in between, another');
        await reset(member, member.password);
        return token;
      },
    ],
    [
      'unused for 90 days',
      (token) => {
        people.time.ms += 90 * dayMs;
        return token;
      },
    ],
  ])('is not recognized by a token %s', async ([, change]) => {
    const changed = await change(browser);
    await failTimes(member.email, 5, changed);
    expect(await kindOf(member, changed)).toBe('locked');
    expect(await kindOf(member)).toBe('locked');
  });
});
