import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createOrganization } from '../../../shared/organizations/create-organization.ts';
import { createUser } from '../../../shared/people/members/users.ts';
import { openHashLimiter } from '../../../shared/people/sign-in/hash-limiter.ts';
import { resetPassword } from '../../../shared/people/sign-in/passwords.ts';
import { knownBrowserCookie, signIn } from '../../../shared/people/sign-in/sign-in.ts';
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
// Each account is tried from an address of its own, unless a test says otherwise.
const tryPassword = (email: string, password: string, browser?: string, address?: string) =>
  signIn(people.deps, { email, password, browser, address: address ?? email.trim().toLowerCase() });
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

describe('the limit of', () => {
  const hour = 3_600_000;
  const outcomes = async (tries: Iterable<[email: string, address: string]>) => {
    const results: string[] = [];
    for (const [email, address] of tries) {
      results.push((await tryPassword(email, wrong, undefined, address)).kind);
    }
    return results;
  };
  const times = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, at) => make(at));
  beforeEach(() => {
    // The windows begin with the hour.
    people.time.ms = Math.ceil(people.time.ms / hour) * hour;
  });

  test('an account and an address does not lock the account for other addresses', async () => {
    const member = await addPerson();
    await failTimes(member.email, 5);
    expect(await kindOf(member)).toBe('locked');
    expect(await tryPassword(member.email, member.password, undefined, '192.0.2.1')).toMatchObject({
      kind: 'signed-in',
    });
  });

  test.each(['a user', 'an address without a user'])(
    'an account of %s is twenty guesses per hour from all addresses',
    async (whose) => {
      const { email, password } =
        whose === 'a user' ? await addPerson() : { email: newEmail(), password: wrong };
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
    const browser = knownBrowserCookie(people.deps, await proofOf(people.deps.db, known.userId));
    const address = '203.0.113.1';
    const kindAt = async ({ email, password }: TestPerson, from: string, cookie?: string) =>
      (await tryPassword(email, password, cookie, from)).kind;
    expect(await outcomes(times(49, () => [newEmail(), address]))).not.toContain('locked');
    // What is right makes no room, and takes none.
    for (let count = 0; count < 3; count += 1) expect(await kindAt(other, address)).toBe('signed-in');
    expect(await outcomes(times(3, () => [newEmail(), address]))).toEqual(['refused', 'locked', 'locked']);
    expect(await kindAt(other, address)).toBe('locked');
    expect(await kindAt(known, address, browser)).toBe('signed-in');
    expect(await kindAt(other, '203.0.113.2')).toBe('signed-in');
    people.time.ms += hour / 6;
    expect(await kindAt(other, address)).toBe('signed-in');
  });

  test('an address is shared by all that one IPv6 network has', async () => {
    const from = (at: number) => (at % 2 === 0 ? `2001:db8:0:1::${at}` : `2001:db8::1:${at}:0:0:1`);
    expect(await outcomes(times(50, (at) => [newEmail(), from(at)]))).not.toContain('locked');
    expect(await outcomes([[newEmail(), '2001:db8:0:1:ffff::']])).toEqual(['locked']);
    expect(await outcomes([[newEmail(), '2001:db8:0:2::1']])).toEqual(['refused']);
  });

  test('an account is not used up by attempts that its other limits refuse', async () => {
    const { email } = await addPerson();
    const guesses = await outcomes(times(40, () => [email, '192.0.2.1']));
    expect(guesses.filter((kind) => kind === 'refused')).toHaveLength(5);
    expect(await outcomes(times(16, (at) => [email, `198.51.100.${at}`]))).toEqual([
      ...times(15, () => 'refused'),
      'locked',
    ]);
  });
});

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

  test('accepts the password after many wrong ones of its own', async () => {
    await failTimes(member.email, 20, browser);
    expect(await kindOf(member, browser)).toBe('signed-in');
  });

  test('is as good as unknown after a hundred wrong passwords of its own in a row', async () => {
    await failTimes(member.email, 5);
    const start = await people.deps.db.lockout.count();
    await failTimes(member.email, 1, browser);
    expect(await people.deps.db.lockout.count()).toBe(start + 1);
    await people.deps.db.lockout.updateMany({
      where: { failures: 1, lockedUntil: null },
      data: { failures: 99 },
    });
    expect(await tryPassword(member.email, wrong, browser)).toEqual(refused);
    expect(await kindOf(member, browser)).toBe('locked');
    expect(await kindOf(member, await tokenOf(member))).toBe('signed-in');
  });

  test('is shared by five people, the last who signed in', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, addPerson));
    let shared = browser;
    const signInAt = async ({ userId }: TestPerson) => {
      shared = knownBrowserCookie(people.deps, await proofOf(people.deps.db, userId), shared);
    };
    for (const other of [...others.slice(0, 4), ...others.slice(0, 4)]) await signInAt(other);
    for (const each of [member, ...others]) await failTimes(each.email, 5);
    for (const each of [member, ...others.slice(0, 4)]) {
      expect(await kindOf(each, shared), each.email).toBe('signed-in');
    }
    expect(await kindOf(others[4] as TestPerson, shared)).toBe('locked');
    await signInAt(others[4] as TestPerson);
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

describe('a new password', () => {
  const add = (email: string, password: string) =>
    createUser(people.deps, { organizationId, email, password, role: 'viewer', actor: 'test' });

  test.for([
    [11, false],
    [12, true],
    [128, true],
    [129, false],
  ] as const)('of %i characters is accepted: %s', async ([length, isAccepted]) => {
    const added = add(newEmail(), randomBytes(64).toString('hex').padEnd(129, 'x').slice(0, length));
    const refusal = { code: 'validation_error', message: expect.stringMatching(/12 to 128/) };
    if (isAccepted) await expect(added).resolves.toHaveProperty('id');
    else await expect(added).rejects.toMatchObject(refusal);
  });

  test.each([
    'passwordpassword',
    'Password1234!',
    'iloveyou1234',
    'administrator',
    '123456789012',
    'aaaaaaaaaaaa',
    'qwertyuiop12',
    'abcabcabcabc',
    `${'qwertyuiop'.repeat(12)}`,
  ])('must not be easy to guess, such as %s', async (password) => {
    const message = 'password: is easy to guess. Use a longer one, such as four unrelated words.';
    await expect(add(newEmail(), password)).rejects.toMatchObject({ code: 'validation_error', message });
  });

  test.each(['correct horse battery', 'Tr4vel-by-slow-train', '7f3k-92mq-x8wd'])(
    'may be %s',
    async (password) => {
      await expect(add(newEmail(), password)).resolves.toHaveProperty('id');
    },
  );

  test('must not be the email address or the name of an organization of the user, in any case', async () => {
    const name = 'Refunds of Northern Lights';
    const { id: ownId } = await createOrganization(people.deps, { name, actor: 'test' });
    const refusal = {
      code: 'validation_error',
      message: 'password: must not be the email address or the name of the organization.',
    };
    const email = newEmail();
    await expect(add(email, email)).rejects.toMatchObject(refusal);
    await expect(add(email, ` ${email.toUpperCase()}`)).rejects.toMatchObject(refusal);
    const join = (password: string) =>
      createUser(people.deps, { organizationId: ownId, email, password, role: 'viewer', actor: 'test' });
    await expect(join(name.toLowerCase())).rejects.toMatchObject(refusal);
    const { id: userId } = await join('four other unrelated words');
    const user = { userId, email };
    await expect(resetPassword(people.deps, { user, password: name, actor: 'test' })).rejects.toMatchObject(
      refusal,
    );
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

  test('keeps a lane for known browsers and signed-in users', async () => {
    const member = await addPerson();
    const browser = knownBrowserCookie(people.deps, await proofOf(people.deps.db, member.userId));
    const hashLimiter = openHashLimiter({ concurrency: 1, queueLimit: 0 });
    void hashLimiter(() => new Promise(() => undefined));
    const deps = { ...people.deps, hashLimiter };
    await expect(signIn(deps, member)).rejects.toMatchObject(unavailable);
    await expect(signIn(deps, { ...member, browser })).resolves.toMatchObject({ kind: 'signed-in' });
  });

  test('bounds a flood of sign-ins by default: two at a time, fifty waiting', async () => {
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
    expect(running).toBe(2);
    for (let done = 0; done < flood.length; done += 1) {
      release.shift()?.();
      await setImmediate();
    }
    const results = await Promise.all(flood);
    expect(results.filter((result) => result === 'done')).toHaveLength(52);
    expect(results.filter((result) => result === 503)).toHaveLength(48);
  });
});
