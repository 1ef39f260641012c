import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openHashLimiter, resetPassword } from '../../../shared/people/passwords.ts';
import { addKnownBrowser, signIn } from '../../../shared/people/sign-in.ts';
import { createUser } from '../../../shared/people/users.ts';
import { newEmail, proofOf, type TestPerson, usePeople } from '../../support/people.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';

const people = usePeople();
let organizationId: string;
let person: TestPerson;

beforeAll(async () => {
  organizationId = await people.addOrganization();
  person = await people.addPerson(organizationId, 'viewer');
});

const wrong = 'not the password at all';
const tryPassword = (email: string, password: string) => signIn(people.deps, { email, password });

async function failTimes(email: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    expect(await tryPassword(email, wrong)).toEqual({ kind: 'refused' });
  }
}

describe('signing in', () => {
  test('works with the right password, whatever the case of the address', async () => {
    const { email, password, userId } = person;
    const signedIn = { kind: 'signed-in', proof: { userId } };
    expect(await tryPassword(email, password)).toMatchObject(signedIn);
    expect(await tryPassword(` ${email.toUpperCase()} `, password)).toMatchObject(signedIn);
  });

  test('is refused in the same words for a wrong password, an unknown address and what is no address', async () => {
    for (const email of [person.email, newEmail(), 'nobody', 'nul\u0000@example.com', '']) {
      expect(await tryPassword(email, wrong), email).toEqual({ kind: 'refused' });
    }
    await tryPassword(person.email, person.password);
  });

  test('takes as long for an address that has no user', async () => {
    // What it costs the processor, because how long it takes depends on what else the machine has to do.
    const costOf = async (emails: string[]) => {
      const costs: number[] = [];
      for (const email of emails) {
        const before = process.cpuUsage();
        await tryPassword(email, wrong);
        const { user, system } = process.cpuUsage(before);
        costs.push(user + system);
      }
      return Math.min(...costs);
    };
    const known = await Promise.all(
      Array.from({ length: 5 }, () => people.addPerson(organizationId, 'viewer')),
    );
    const ofKnown = await costOf(known.map(({ email }) => email));
    const ofUnknown = await costOf(Array.from({ length: 5 }, newEmail));
    // Without the hash it is a thirtieth of that.
    expect(ofUnknown).toBeGreaterThan(ofKnown / 6);
  });

  test('leaves no trace of a password or an address of nobody in the database', async () => {
    const email = newEmail();
    await failTimes(email, 1);
    await expectNotInDatabase(people.databaseUrl, wrong);
    await expectNotInDatabase(people.databaseUrl, person.password);
    await expectNotInDatabase(people.databaseUrl, email);
  });
});

describe.for(['a person', 'an address without a user'])('the lock of %s', (whose) => {
  let email: string;
  let password: string;
  beforeAll(async () => {
    const known = await people.addPerson(organizationId, 'viewer');
    ({ email, password } = whose === 'a person' ? known : { email: newEmail(), password: wrong });
  });

  test('comes with the fifth failure in a row, and holds for 30 s', async () => {
    await failTimes(email, 5);
    expect(await tryPassword(email, wrong)).toEqual({ kind: 'locked', retryAfterSeconds: 30 });
    people.time.ms += 29_001;
    expect(await tryPassword(email.toUpperCase(), wrong)).toEqual({ kind: 'locked', retryAfterSeconds: 1 });
  });

  test('does not tell that a password is right, and does not open for it', async () => {
    expect(await tryPassword(email, password)).toEqual({ kind: 'locked', retryAfterSeconds: 1 });
    people.time.ms += 999;
  });

  test('doubles with every further failure, up to an hour', async () => {
    const seconds: number[] = [];
    for (let failures = 6; failures <= 14; failures += 1) {
      await failTimes(email, 1);
      const locked = await tryPassword(email, wrong);
      if (locked.kind !== 'locked') throw new Error(`not locked after ${failures} failures`);
      seconds.push(locked.retryAfterSeconds);
      people.time.ms += locked.retryAfterSeconds * 1000;
    }
    expect(seconds).toEqual([60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  });

  test('is forgotten after a day', async () => {
    people.time.ms += 24 * 60 * 60 * 1000 + 1;
    await failTimes(email, 5);
    expect(await tryPassword(email, wrong)).toEqual({ kind: 'locked', retryAfterSeconds: 30 });
    people.time.ms += 30_000;
  });
});

test('refusals are logged with what locks, and without the address', async () => {
  const { userId, email, password } = await people.addPerson(organizationId, 'viewer');
  people.logged.length = 0;
  await failTimes(email, 5);
  await tryPassword(email, password);
  people.time.ms += 30_000;
  await tryPassword(email, password);
  await failTimes(newEmail(), 1);
  const [first, , , , fifth, locked, stranger] = people.logged;
  const refused = { level: 40, userId, subject: expect.stringMatching(/^[0-9a-f]{12}$/) };
  expect(people.logged).toHaveLength(7);
  expect(first).toMatchObject({ ...refused, msg: 'an attempt was refused: wrong' });
  expect(fifth).toMatchObject({
    ...{ ...refused, subject: first?.subject, locksForSeconds: 30 },
    msg: 'an attempt was refused: wrong, a lock begins',
  });
  expect(locked).toMatchObject({ ...refused, msg: 'an attempt was refused: locked', retryAfterSeconds: 30 });
  expect(stranger).toMatchObject({ level: 40, userId: null });
  expect(JSON.stringify(people.logged)).not.toMatch(/@|not the password/);
});

test('a success ends the row of failures', async () => {
  const { email, password } = await people.addPerson(organizationId, 'viewer');
  await failTimes(email, 4);
  expect((await tryPassword(email, password)).kind).toBe('signed-in');
  await failTimes(email, 4);
  expect((await tryPassword(email, password)).kind).toBe('signed-in');
});

describe('a browser in which somebody has signed in before', () => {
  const tryIn = (browser: string, { email, password }: Pick<TestPerson, 'email' | 'password'>) =>
    signIn(people.deps, { email, password, browser });
  const knownTo = async ({ userId }: TestPerson, shown = '') =>
    addKnownBrowser(people.deps, shown, await proofOf(people.deps.db, userId));
  const locked = { kind: 'locked', retryAfterSeconds: 30 };
  let member: TestPerson;
  let browser: string;
  beforeEach(async () => {
    member = await people.addPerson(organizationId, 'viewer');
    browser = await knownTo(member);
  });

  test('is not locked by the wrong passwords of others, who stay locked', async () => {
    await failTimes(member.email, 5);
    expect(await tryPassword(member.email, member.password)).toEqual(locked);
    expect((await tryIn(browser, member)).kind).toBe('signed-in');
    expect(await tryPassword(member.email, member.password)).toEqual(locked);
  });

  test('is locked by wrong passwords of its own, alone', async () => {
    for (let count = 0; count < 5; count += 1) {
      expect(await tryIn(browser, { ...member, password: wrong })).toEqual({ kind: 'refused' });
    }
    expect(await tryIn(browser, member)).toEqual(locked);
    expect((await tryIn(await knownTo(member), member)).kind).toBe('signed-in');
    expect((await tryPassword(member.email, member.password)).kind).toBe('signed-in');
  });

  test('is known to the last three people, and is not locked for any of them by strangers', async () => {
    const [first, second, third, fourth] = await Promise.all(
      [1, 2, 3, 4].map(() => people.addPerson(organizationId, 'viewer')),
    );
    if (!first || !second || !third || !fourth) throw new Error('There are four people');
    let shown = '';
    // A second time in a row, and under a new password, is no further person.
    for (const each of [first, second, second, third]) shown = await knownTo(each, shown);
    const next = 'a new password of my own';
    await resetPassword(people.deps, { organizationId, email: second.email, actor: 'test', password: next });
    second.password = next;
    shown = await knownTo(second, shown);
    const kindsOf = async (some: TestPerson[]) =>
      await Promise.all(some.map(async (each) => (await tryIn(shown, each)).kind));
    for (const { email } of [first, second, third, fourth]) await failTimes(email, 5);
    const all = Array.from({ length: 3 }, () => 'signed-in');
    expect(await kindsOf([first, second, third])).toEqual(all);
    shown = await knownTo(fourth, shown);
    expect(await kindsOf([second, third, fourth])).toEqual(all);
    expect(await kindsOf([first])).toEqual(['locked']);
    expect(shown.length).toBeLessThan(400);
  });

  test('keeps nothing that it has not been given', async () => {
    const hostile = [`${'x'.repeat(5_000)}~a.b.c.d~; Path=/`, '~~~', '\u0000'];
    for (const shown of hostile) expect(await knownTo(member, shown)).toMatch(/^[\w.-]{1,120}$/);
  });

  test.for<[string, (token: string) => Promise<string> | string]>([
    ['of another person', async () => knownTo(await people.addPerson(organizationId, 'viewer'))],
    ['that is known to somebody else by its tag', (token) => token.replace(/^[^.]+/, 'x'.repeat(16))],
    ['whose name was changed', (token) => token.replace(/\.[^.]+/, `.${'x'.repeat(22)}`)],
    ['whose time was changed', (token) => token.replace(/\.\d{13}\./, '.99999999999999.')],
    ['without a signature', (token) => token.replace(/[^.]+$/, '')],
    [
      'known under an earlier password',
      async (token) => {
        const request = { organizationId, email: member.email, actor: 'test' };
        await resetPassword(people.deps, { ...request, password: 'in between, another' });
        await resetPassword(people.deps, { ...request, password: member.password });
        return token;
      },
    ],
    [
      'that was not used for 90 days',
      (token) => {
        people.time.ms += 90 * 24 * 60 * 60 * 1000;
        return token;
      },
    ],
  ])('is not one %s: it counts for the address', async ([, change]) => {
    const changed = await change(browser);
    for (let count = 0; count < 5; count += 1) await tryIn(changed, { ...member, password: wrong });
    expect(await tryIn(changed, member)).toEqual(locked);
    expect(await tryPassword(member.email, member.password)).toEqual(locked);
  });
});

test('guesses at the same moment do not pass the limit together', async () => {
  const { email } = await people.addPerson(organizationId, 'viewer');
  const guesses = Array.from({ length: 40 }, (_, at) => tryPassword(email, `${wrong} ${at}`));
  const kinds = (await Promise.all(guesses)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(5);
  expect(kinds.filter((kind) => kind === 'locked')).toHaveLength(35);
});

describe('a password', () => {
  const add = (email: string, password: string) =>
    createUser(people.deps, { organizationId, email, password, role: 'viewer', actor: 'test' });

  test.for([
    [11, false],
    [12, true],
    [128, true],
    [129, false],
  ] as const)('of %i characters is taken: %s', async ([length, isTaken]) => {
    const added = add(newEmail(), 'p'.repeat(length));
    if (isTaken) await expect(added).resolves.toHaveProperty('id');
    else
      await expect(added).rejects.toMatchObject({
        code: 'validation_error',
        message: expect.stringMatching(/12 to 128/),
      });
  });

  test('is not the e-mail address, in whatever case', async () => {
    const email = newEmail();
    const refusal = { code: 'validation_error', message: expect.stringContaining('e-mail address') };
    await expect(add(email, email)).rejects.toMatchObject(refusal);
    await expect(add(email, ` ${email.toUpperCase()}`)).rejects.toMatchObject(refusal);
  });
});

describe('a flood of sign-ins', () => {
  test('is worked on a few at a time, and refused beyond those that may wait', async () => {
    const turns = new HashingTurns({ atOnce: 2, waiting: 3 });
    const open: (() => void)[] = [];
    let most = 0;
    const work = () =>
      new Promise<void>((resolve) => {
        open.push(resolve);
        most = Math.max(most, open.length);
      });
    const taken = [1, 2, 3, 4, 5].map(() => turns.take(work));
    await expect(turns.take(work)).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    for (let done = 0; done < 5; done += 1) {
      open.shift()?.();
      await setImmediate();
    }
    await Promise.all(taken);
    expect(most).toBe(2);
    await expect(turns.take(async () => 'free again')).resolves.toBe('free again');
  });

  test('gives its turn back when the work fails', async () => {
    const turns = new HashingTurns({ atOnce: 1, waiting: 0 });
    await expect(turns.take(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(turns.take(async () => 'next')).resolves.toBe('next');
  });

  test('counts nothing for those who are turned away', async () => {
    const { email, password } = await people.addPerson(organizationId, 'viewer');
    const full = { ...people.deps, hashLimiter: fullLimiter() };
    for (let count = 0; count < 6; count += 1) {
      await expect(signIn(full, { email, password })).rejects.toMatchObject({ code: 'service_unavailable' });
    }
    expect((await tryPassword(email, password)).kind).toBe('signed-in');
  });
});
