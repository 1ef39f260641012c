import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { changePassword, resetPassword } from '#shared/people/sign-in/passwords.ts';
import {
  extendSession,
  listSessions,
  loadSession,
  type Proof,
  revokeOtherSessions,
  revokeSession,
  signOut,
  startSession,
  updateSession,
} from '#shared/people/sign-in/sessions.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import { proofOf, type TestPerson, usePeople } from '../../support/people.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';

const people = usePeople();
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const newPassword = 'a quite different password';
const browser = { userAgent: 'A browser', ip: '192.0.2.1' };
const ended = { code: 'insufficient_scope', message: expect.stringContaining('signed out') };
const invalid = { code: 'validation_error' };
let organizationId: string;
let person: TestPerson;

beforeAll(async () => {
  organizationId = await people.addOrganization();
  person = await people.addPerson(organizationId, 'owner');
});

interface Started {
  /** The id in the cookie. */
  sid: string;
  /** The id of the row. */
  id: string;
}

async function start(userId: string): Promise<Started> {
  return await startWith(await proofOf(people.deps.db, userId));
}

async function startWith(proof: Proof): Promise<Started> {
  const sid = randomBytes(24).toString('base64url');
  return { sid, id: await startSession(people.deps, { sid, proof, data: {}, ...browser }) };
}

const addPerson = () => people.addPerson(organizationId, 'viewer');
const load = (sid: string) => loadSession(people.deps, sid);
const update = (session: Started) =>
  updateSession(people.deps, { ...session, userId: person.userId, data: {} });
const countSessions = (userId: string) => people.deps.db.session.count({ where: { userId } });
const reset = ({ userId, email }: TestPerson) =>
  resetPassword(people.deps, { user: { userId, email }, password: newPassword, actor: 'cli:test' });
const change = ({ userId, password }: TestPerson, sid: string, next = newPassword) =>
  changePassword(people.deps, { userId, current: password, next, sid });
const join = (userId: string, organization: string) =>
  people.deps.db.membership.create({ data: { organizationId: organization, userId, role: 'viewer' } });

describe('a session', () => {
  test.for<[string, (session: Started) => Promise<unknown>]>([
    ['signed out', ({ sid }) => signOut(people.deps, { userId: person.userId, sid })],
    [
      'ended by another session',
      async () => {
        const { sid } = await start(person.userId);
        return await revokeOtherSessions(people.deps, { userId: person.userId, sid });
      },
    ],
  ])('is not restored by a request that still runs when it is %s', async ([, end]) => {
    const session = await start(person.userId);
    await end(session);
    expect(await update(session)).toBe(false);
    expect(await load(session.sid)).toBeNull();
  });
});

describe('the lifetime of a session', () => {
  test('ends after twelve hours without use', async () => {
    const session = await start(person.userId);
    people.time.ms += 12 * hourMs - 1;
    await extendSession(people.deps, session.id);
    people.time.ms += 12 * hourMs - 1;
    // Loading does not extend it.
    expect(await load(session.sid)).not.toBeNull();
    people.time.ms += 1;
    expect(await load(session.sid)).toBeNull();
    await extendSession(people.deps, session.id);
    expect(await load(session.sid)).toBeNull();
    expect(await update(session)).toBe(false);
    expect(await listSessions(people.deps, person.userId)).toEqual([]);
  });

  test('ends after seven days of use', async () => {
    const session = await start(person.userId);
    for (let hours = 0; hours < 7 * 24 - 8; hours += 8) {
      people.time.ms += 8 * hourMs;
      await extendSession(people.deps, session.id);
      expect(await load(session.sid), `after ${hours} hours`).not.toBeNull();
    }
    people.time.ms += 8 * hourMs - 1;
    await extendSession(people.deps, session.id);
    expect(await load(session.sid)).not.toBeNull();
    people.time.ms += 1;
    expect(await load(session.sid)).toBeNull();
  });
});

describe('starting a session', () => {
  const justChanged = { ...invalid, message: expect.stringContaining('just changed') };

  test('is refused when the password has changed since', async () => {
    const member = await addPerson();
    const proof = await proofOf(people.deps.db, member.userId);
    await reset(member);
    await expect(startWith(proof)).rejects.toMatchObject(justChanged);
    expect(await countSessions(member.userId)).toBe(0);
  });

  test('is undone by a password change that waits for it', async () => {
    const member = await addPerson();
    const proof = await proofOf(people.deps.db, member.userId);
    await withClient(people.databaseUrl, async (client) => {
      // Blocks the insert; the password is locked by then.
      await client.query('BEGIN; LOCK TABLE session IN SHARE MODE');
      const starting = startWith(proof);
      await waitForLock(client);
      const resetting = reset(member);
      await waitForLock(client, 2);
      await client.query('COMMIT');
      await Promise.all([starting, resetting]);
    });
    expect(await countSessions(member.userId)).toBe(0);
  });
});

describe('ending sessions', () => {
  test('ends none of another user, and is audited once in every organization of the user', async () => {
    const { userId } = await addPerson();
    const secondId = await people.addOrganization();
    await join(userId, secondId);
    const [first, second, third] = [await start(userId), await start(userId), await start(userId)];
    const foreign = await start(person.userId);
    const { sid } = first;
    expect(await revokeSession(people.deps, { userId, sid, id: foreign.id })).toBe(false);
    for (const act of [
      () => revokeSession(people.deps, { userId, sid, id: second.id }),
      () => revokeOtherSessions(people.deps, { userId, sid }),
      () => signOut(people.deps, { userId, sid }),
    ]) {
      await act();
      await act().catch(() => undefined);
    }
    for (const each of [first, second, third]) expect(await load(each.sid)).toBeNull();
    expect(await load(foreign.sid)).not.toBeNull();
    for (const each of [organizationId, secondId]) {
      const where = { organizationId: each, actor: `user:${userId}`, action: { not: 'user.created' } };
      const entries = await people.deps.db.auditLog.findMany({ where, orderBy: { id: 'asc' } });
      expect(entries.map(({ action, target }) => [action, target])).toEqual([
        ['user.signed_in', first.id],
        ['user.signed_in', second.id],
        ['user.signed_in', third.id],
        ['session.revoked', second.id],
        ['sessions.revoked', userId],
        ['user.signed_out', first.id],
      ]);
      expect(entries[4]?.detail).toEqual({ count: 1 });
    }
  });

  test('is refused to a session that has ended', async () => {
    const { userId } = await addPerson();
    const [stolen, own] = [await start(userId), await start(userId)];
    await revokeSession(people.deps, { userId, sid: own.sid, id: stolen.id });
    const { sid } = stolen;
    await expect(revokeOtherSessions(people.deps, { userId, sid })).rejects.toMatchObject(ended);
    await expect(revokeSession(people.deps, { userId, sid, id: own.id })).rejects.toMatchObject(ended);
    expect(await load(own.sid)).not.toBeNull();
  });
});

describe('changing the password', () => {
  test('ends every session, and is audited in every organization of the user', async () => {
    const member = await addPerson();
    const secondId = await people.addOrganization();
    await join(member.userId, secondId);
    const [own, other] = [await start(member.userId), await start(member.userId)];
    const proof = await change(member, own.sid);
    for (const { sid } of [own, other]) expect(await load(sid)).toBeNull();
    await expect(startWith(proof)).resolves.toHaveProperty('id');
    const entries = await people.deps.db.auditLog.findMany({
      where: { target: member.userId, action: 'user.password_changed', actor: `user:${member.userId}` },
    });
    const organizations = entries.map((entry) => entry.organizationId);
    expect(organizations.sort()).toEqual([organizationId, secondId].sort());
    expect((await signIn(people.deps, member)).kind).toBe('refused');
    const { kind } = await signIn(people.deps, { email: member.email, password: newPassword });
    expect(kind).toBe('signed-in');
  });

  test('locks the form, but not the sign-in, after five wrong current passwords', async () => {
    const member = await addPerson();
    const { sid } = await start(member.userId);
    for (let count = 0; count < 5; count += 1) {
      const guess = change({ ...member, password: `wrong ${count}` }, sid);
      await expect(guess).rejects.toMatchObject(invalid);
    }
    const locked = { code: 'rate_limited', retryAfterSeconds: 30 };
    await expect(change(member, sid)).rejects.toMatchObject(locked);
    expect((await signIn(people.deps, member)).kind).toBe('signed-in');
    await expect(change(member, sid)).rejects.toMatchObject(locked);
    await reset(member);
    const again = await start(member.userId);
    await change({ ...member, password: newPassword }, again.sid, 'one more password');
  });
});
