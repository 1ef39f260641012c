import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
import { knownBrowserCookie } from '#shared/people/sign-in/known-browsers.ts';
import { resetPassword } from '#shared/people/sign-in/passwords.ts';
import { type SignIn, signIn } from '#shared/people/sign-in/sign-in.ts';
import { fullLimiter, newEmail, proofOf, type TestPerson, usePeople } from '../../support/people.ts';

const people = usePeople();
const dayMs = 24 * 60 * 60 * 1000;
let organizationId: string;
let person: TestPerson;

beforeAll(async () => {
  organizationId = await people.addOrganization();
  person = await people.addPerson(organizationId, 'viewer');
});

const lockedFor = (retryAfterSeconds: number) => ({ kind: 'locked', retryAfterSeconds });
const addPerson = () => people.addPerson(organizationId, 'viewer');
/** A password that no user has. */
const wrongPassword = 'not the password at all';
/** The result of a wrong password. */
const refused = { kind: 'refused' };

/** Tries to sign in, each account from a network of its own, unless an IP address is given. */
const tryPassword = (email: string, password: string, browser?: string, ip?: string): Promise<SignIn> =>
  signIn(people.deps, { email, password, browser, ip: ip ?? email.trim().toLowerCase() });
const kindOf = async ({ email, password }: TestPerson, browser?: string) =>
  (await tryPassword(email, password, browser)).kind;
const browserOf = async ({ userId }: TestPerson) =>
  knownBrowserCookie(people.deps, await proofOf(people.deps.db, userId));

async function failTimes(email: string, times: number, browser?: string): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    expect(await tryPassword(email, wrongPassword, browser)).toEqual(refused);
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
      expect(await tryPassword(email, wrongPassword), email).toEqual(refused);
    }
    await tryPassword(person.email, person.password);
  });

  test('takes as long for an address without a user', async () => {
    // Compares CPU time, because elapsed time depends on what else the machine does.
    const costOf = async (emails: string[]) => {
      const costs: number[] = [];
      for (const email of emails) {
        const before = process.cpuUsage();
        await tryPassword(email, wrongPassword);
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
});

describe.for(['a user', 'an address without a user'])('the lockout of %s', (whose) => {
  let email: string;
  let password: string;
  beforeAll(async () => {
    ({ email, password } =
      whose === 'a user' ? await addPerson() : { email: newEmail(), password: wrongPassword });
  });

  test('starts with the fifth consecutive failure, lasts 30 s, and refuses the correct password too', async () => {
    await failTimes(email, 5);
    expect(await tryPassword(email, wrongPassword)).toEqual(lockedFor(30));
    people.time.ms += 29_001;
    expect(await tryPassword(email.toUpperCase(), wrongPassword)).toEqual(lockedFor(1));
    expect(await tryPassword(email, password)).toEqual(lockedFor(1));
    people.time.ms += 999;
  });

  test('doubles with each further failure, up to an hour', async () => {
    const seconds: number[] = [];
    for (let failures = 6; failures <= 14; failures += 1) {
      await failTimes(email, 1);
      const locked = await tryPassword(email, wrongPassword);
      if (locked.kind !== 'locked') throw new Error(`not locked after ${failures} failures`);
      seconds.push(locked.retryAfterSeconds);
      people.time.ms += locked.retryAfterSeconds * 1000;
    }
    expect(seconds).toEqual([60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  });

  test('starts over after a day without failures', async () => {
    people.time.ms += dayMs + 1;
    await failTimes(email, 5);
    expect(await tryPassword(email, wrongPassword)).toEqual(lockedFor(30));
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
    const deps = { ...people.deps, hashLimiter: openHashLimiter({ share: 40 }) };
    const guesses = Array.from({ length: 40 }, (_, at) =>
      signIn(deps, { email, password: `${wrongPassword} ${at}`, ip: '192.0.2.1' }),
    );
    const kinds = (await Promise.all(guesses)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(5);
    expect(kinds.filter((kind) => kind === 'locked')).toHaveLength(35);
  });
});

describe('right passwords', () => {
  const signInTimes = async (member: TestPerson, times: number, browser?: string) => {
    for (let count = 0; count < times; count += 1) expect(await kindOf(member, browser)).toBe('signed-in');
  };

  test('are accepted ten times per minute, from all networks together, and then not even checked', async () => {
    const member = await addPerson();
    const { email, password } = member;
    people.time.ms = Math.ceil(people.time.ms / 60_000) * 60_000;
    await signInTimes(member, 9);
    expect(await tryPassword(email, password, undefined, '192.0.2.1')).toMatchObject({ kind: 'signed-in' });
    const deps = { ...people.deps, hashLimiter: fullLimiter() };
    for (const ip of ['192.0.2.1', '192.0.2.2']) {
      expect(await signIn(deps, { email, password, ip })).toEqual(lockedFor(60));
      expect(await signIn(deps, { email, password: wrongPassword, ip })).toEqual(lockedFor(60));
    }
    expect(await kindOf(await addPerson())).toBe('signed-in');
    people.time.ms += 60_000;
    await signInTimes(member, 10);
  });

  test('do not close a known browser when someone else who knows the password uses them up', async () => {
    const member = await addPerson();
    const browser = await browserOf(member);
    people.time.ms = Math.ceil(people.time.ms / 60_000) * 60_000;
    await signInTimes(member, 10);
    expect(await kindOf(member)).toBe('locked');
    await signInTimes(member, 10, browser);
    expect(await kindOf(member, browser)).toBe('locked');
  });
});

describe('the limit of', () => {
  const hour = 3_600_000;
  const outcomes = async (tries: Iterable<[email: string, address: string]>) => {
    const results: string[] = [];
    for (const [email, address] of tries) {
      results.push((await tryPassword(email, wrongPassword, undefined, address)).kind);
    }
    return results;
  };
  const times = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, at) => make(at));
  beforeEach(() => {
    // The windows begin with the hour.
    people.time.ms = Math.ceil(people.time.ms / hour) * hour;
  });

  test.each(['a user', 'an address without a user'])(
    'an account of %s is twenty guesses per hour from all addresses',
    async (whose) => {
      const { email, password } =
        whose === 'a user' ? await addPerson() : { email: newEmail(), password: wrongPassword };
      const guesses = await outcomes(times(30, (at) => [email, `192.0.2.${at}`]));
      expect(guesses).toEqual([...times(20, () => 'refused'), ...times(10, () => 'locked')]);
      expect(await tryPassword(email, password, undefined, '198.51.100.1')).toEqual(lockedFor(3_600));
      people.time.ms += hour - 1;
      expect(await tryPassword(email, password, undefined, '198.51.100.1')).toEqual(lockedFor(1));
      people.time.ms += 1;
      const expected = whose === 'a user' ? 'signed-in' : 'refused';
      expect(await tryPassword(email, password, undefined, '198.51.100.1')).toMatchObject({ kind: expected });
    },
  );

  test('an address is fifty guesses per ten minutes at all accounts', async () => {
    const [known, other] = [await addPerson(), await addPerson()];
    const browser = await browserOf(known);
    // All of one IPv6 network, which one site has to itself.
    const address = '2001:db8:0:1:ffff::';
    const kindAt = async ({ email, password }: TestPerson, from: string, cookie?: string) =>
      (await tryPassword(email, password, cookie, from)).kind;
    const members = await Promise.all(times(13, addPerson));
    const tries = times(49, (at): [string, string] => [members[at >> 2]?.email ?? '', `2001:db8:0:1::${at}`]);
    expect(await outcomes(tries)).not.toContain('locked');
    // What is right makes no room, and takes none.
    for (let count = 0; count < 3; count += 1) expect(await kindAt(other, address)).toBe('signed-in');
    expect(await outcomes(times(3, () => [newEmail(), address]))).toEqual(['refused', 'locked', 'locked']);
    expect(await kindAt(other, address)).toBe('locked');
    expect(await kindAt(known, address, browser)).toBe('signed-in');
    expect(await kindAt(other, '2001:db8:0:2::1')).toBe('signed-in');
    people.time.ms += hour / 6;
    expect(await kindAt(other, address)).toBe('signed-in');
  });
});

describe('a known browser', () => {
  const reset = ({ userId, email }: TestPerson, password: string) =>
    resetPassword(people.deps, { user: { userId, email }, password, actor: 'test' });
  let member: TestPerson;
  let browser: string;
  beforeEach(async () => {
    member = await addPerson();
    browser = await browserOf(member);
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
    expect(await kindOf(member, await browserOf(member))).toBe('signed-in');
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
    ['of another user', async () => await browserOf(await addPerson())],
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
