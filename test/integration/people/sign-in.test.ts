import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openHashLimiter } from '../../../shared/people/hash-limiter.ts';
import { resetPassword } from '../../../shared/people/passwords.ts';
import { knownBrowserToken, signIn } from '../../../shared/people/sign-in.ts';
import { createUser } from '../../../shared/people/users.ts';
import { fullLimiter, newEmail, proofOf, type TestPerson, usePeople } from '../../support/people.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';

const people = usePeople();
const dayMs = 24 * 60 * 60 * 1000;
let organizationId: string;
let person: TestPerson;

beforeAll(async () => {
  organizationId = await people.addOrganization();
  person = await people.addPerson(organizationId, 'viewer');
});

const wrong = 'not the password at all';
const refused = { kind: 'refused' };
const lockedFor = (retryAfterSeconds: number) => ({ kind: 'locked', retryAfterSeconds });
const addPerson = () => people.addPerson(organizationId, 'viewer');
const tryPassword = (email: string, password: string, browser?: string) =>
  signIn(people.deps, { email, password, browser });
const kindOf = async ({ email, password }: TestPerson, browser?: string) =>
  (await tryPassword(email, password, browser)).kind;

async function failTimes(email: string, times: number, browser?: string): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    expect(await tryPassword(email, wrong, browser)).toEqual(refused);
  }
}

describe('signing in', () => {
  test('accepts the password for the address in any case', async () => {
    const { email, password, userId } = person;
    const signedIn = { kind: 'signed-in', proof: { userId } };
    expect(await tryPassword(email, password)).toMatchObject(signedIn);
    expect(await tryPassword(` ${email.toUpperCase()} `, password)).toMatchObject(signedIn);
  });

  test('refuses a wrong password, an unknown and an invalid address alike', async () => {
    for (const email of [person.email, newEmail(), 'nobody', 'nul\u0000@example.com', '']) {
      expect(await tryPassword(email, wrong), email).toEqual(refused);
    }
    await tryPassword(person.email, person.password);
  });

  test('takes as long for an address without a user', async () => {
    // Compares CPU time, because elapsed time depends on what else the machine does.
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
    const known = await Promise.all(Array.from({ length: 5 }, addPerson));
    const costOfKnown = await costOf(known.map(({ email }) => email));
    const costOfUnknown = await costOf(Array.from({ length: 5 }, newEmail));
    // Without hashing it would be about a thirtieth.
    expect(costOfUnknown).toBeGreaterThan(costOfKnown / 6);
  });

  test('stores neither passwords nor unknown addresses', async () => {
    const email = newEmail();
    await failTimes(email, 1);
    for (const text of [wrong, person.password, email]) await expectNotInDatabase(people.databaseUrl, text);
  });

  test('logs refusals with the user and without the address', async () => {
    const member = await addPerson();
    const { userId, email } = member;
    people.logged.length = 0;
    await failTimes(email, 5);
    await kindOf(member);
    people.time.ms += 30_000;
    await kindOf(member);
    await failTimes(newEmail(), 1);
    const [first, , , , fifth, locked, unknown, ...more] = people.logged;
    expect(more).toEqual([]);
    const entry = { level: 40, userId, subject: expect.stringMatching(/^[0-9a-f]{12}$/) };
    expect(first).toMatchObject({ ...entry, msg: 'attempt refused: wrong' });
    expect(fifth).toMatchObject({
      ...{ ...entry, subject: first?.subject, locksForSeconds: 30 },
      msg: 'attempt refused: wrong, now locked',
    });
    expect(locked).toMatchObject({ ...entry, msg: 'attempt refused: locked', retryAfterSeconds: 30 });
    expect(unknown).toMatchObject({ level: 40, userId: null });
    expect(JSON.stringify(people.logged)).not.toMatch(/@|not the password/);
  });
});

describe.for(['a user', 'an address without a user'])('the lockout of %s', (whose) => {
  let email: string;
  let password: string;
  beforeAll(async () => {
    ({ email, password } = whose === 'a user' ? await addPerson() : { email: newEmail(), password: wrong });
  });

  test('starts with the fifth consecutive failure, lasts 30 s, and refuses the correct password too', async () => {
    await failTimes(email, 5);
    expect(await tryPassword(email, wrong)).toEqual(lockedFor(30));
    people.time.ms += 29_001;
    expect(await tryPassword(email.toUpperCase(), wrong)).toEqual(lockedFor(1));
    expect(await tryPassword(email, password)).toEqual(lockedFor(1));
    people.time.ms += 999;
  });

  test('doubles with each further failure, up to an hour', async () => {
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

  test('starts over after a day without failures', async () => {
    people.time.ms += dayMs + 1;
    await failTimes(email, 5);
    expect(await tryPassword(email, wrong)).toEqual(lockedFor(30));
    people.time.ms += 30_000;
  });
});

describe('counting failures', () => {
  test('starts over after a successful sign-in', async () => {
    const member = await addPerson();
    for (let round = 0; round < 2; round += 1) {
      await failTimes(member.email, 4);
      expect(await kindOf(member)).toBe('signed-in');
    }
  });

  test('admits no more than five of forty concurrent guesses', async () => {
    const { email } = await addPerson();
    const guesses = Array.from({ length: 40 }, (_, at) => tryPassword(email, `${wrong} ${at}`));
    const kinds = (await Promise.all(guesses)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(5);
    expect(kinds.filter((kind) => kind === 'locked')).toHaveLength(35);
  });
});

describe('a known browser', () => {
  const tokenOf = async ({ userId }: TestPerson) =>
    knownBrowserToken(people.deps, await proofOf(people.deps.db, userId));
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

  test('is locked by its own wrong passwords, and only it', async () => {
    await failTimes(member.email, 5, browser);
    expect(await tryPassword(member.email, member.password, browser)).toEqual(lockedFor(30));
    expect(await kindOf(member, await tokenOf(member))).toBe('signed-in');
    expect(await kindOf(member)).toBe('signed-in');
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

describe('a new password', () => {
  const add = (email: string, password: string) =>
    createUser(people.deps, { organizationId, email, password, role: 'viewer', actor: 'test' });

  test.for([
    [11, false],
    [12, true],
    [128, true],
    [129, false],
  ] as const)('of %i characters is accepted: %s', async ([length, isAccepted]) => {
    const added = add(newEmail(), 'p'.repeat(length));
    const refusal = { code: 'validation_error', message: expect.stringMatching(/12 to 128/) };
    if (isAccepted) await expect(added).resolves.toHaveProperty('id');
    else await expect(added).rejects.toMatchObject(refusal);
  });

  test('must not be the email address in any case', async () => {
    const email = newEmail();
    const refusal = { code: 'validation_error', message: expect.stringContaining('email address') };
    await expect(add(email, email)).rejects.toMatchObject(refusal);
    await expect(add(email, ` ${email.toUpperCase()}`)).rejects.toMatchObject(refusal);
  });
});

describe('the hash limiter', () => {
  const unavailable = { code: 'service_unavailable', status: 503, retryAfterSeconds: 2 };

  test('runs a few at a time, queues some, and refuses the rest at once', async () => {
    const limiter = openHashLimiter({ concurrency: 2, queueLimit: 3 });
    const open: (() => void)[] = [];
    let most = 0;
    const work = () =>
      new Promise<void>((resolve) => {
        open.push(resolve);
        most = Math.max(most, open.length);
      });
    const accepted = [1, 2, 3, 4, 5].map(() => limiter(work));
    await expect(limiter(work)).rejects.toMatchObject(unavailable);
    for (let done = 0; done < 5; done += 1) {
      await setImmediate();
      open.shift()?.();
    }
    await Promise.all(accepted);
    expect(most).toBe(2);
    await expect(limiter(async () => 'free again')).resolves.toBe('free again');
  });

  test('frees the slot when the work fails', async () => {
    const limiter = openHashLimiter({ concurrency: 1, queueLimit: 0 });
    await expect(limiter(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(limiter(async () => 'next')).resolves.toBe('next');
  });

  test('limits sign-ins, and a refused one counts as no failure', async () => {
    const member = await addPerson();
    const full = { ...people.deps, hashLimiter: fullLimiter() };
    for (let count = 0; count < 6; count += 1) {
      await expect(signIn(full, member)).rejects.toMatchObject(unavailable);
    }
    expect(await kindOf(member)).toBe('signed-in');
  });

  test('bounds a flood of sign-ins by default: four at a time, fifty waiting', async () => {
    const limiter = openHashLimiter();
    let running = 0;
    const release: (() => void)[] = [];
    const flood = Array.from({ length: 100 }, () =>
      limiter(async () => {
        running += 1;
        await new Promise<void>((resolve) => release.push(resolve));
      }).then(
        () => 'done',
        ({ status }) => status,
      ),
    );
    await setImmediate();
    expect(running).toBe(4);
    for (let done = 0; done < flood.length; done += 1) {
      release.shift()?.();
      await setImmediate();
    }
    const results = await Promise.all(flood);
    expect(results.filter((result) => result === 'done')).toHaveLength(54);
    expect(results.filter((result) => result === 503)).toHaveLength(46);
  });
});
