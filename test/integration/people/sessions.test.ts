import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { changePassword, openHashLimiter, resetPassword } from '../../../shared/people/passwords.ts';
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
} from '../../../shared/people/sessions.ts';
import { signIn } from '../../../shared/people/sign-in.ts';
import { openDatabase } from '../../../shared/platform/database.ts';
import { outcomesOf, proofOf, type TestPerson, usePeople } from '../../support/people.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';
import { recordStatements } from '../../support/stores/recorded-statements.ts';
import { waitForLock } from '../../support/stores/wait-for-lock.ts';

const people = usePeople();
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
let organizationId: string;
let person: TestPerson;

beforeAll(async () => {
  organizationId = await people.addOrganization();
  person = await people.addPerson(organizationId, 'owner');
});

const browser = { userAgent: 'A browser', ip: '192.0.2.1' };

/** What a request does that makes a session; the cookie's session id and the row's own. */
async function start(userId: string): Promise<{ sid: string; id: string }> {
  return await startWith(await proofOf(people.deps.db, userId));
}

const newSid = () => randomBytes(24).toString('base64url');

async function startWith(proof: Proof): Promise<{ sid: string; id: string }> {
  const sid = newSid();
  return { sid, id: await startSession(people.deps, { sid, proof, data: {}, ...browser }) };
}

const load = (sid: string) => loadSession(people.deps, sid);
const update = (session: { sid: string; id: string }, userId: string, data = {}) =>
  updateSession(people.deps, { ...session, userId, data });

describe('a session', () => {
  test("is a person's, and keeps what the library stores", async () => {
    const session = await start(person.userId);
    expect(await load(session.sid)).toEqual({ id: session.id, userId: person.userId, data: {} });
    expect(await update(session, person.userId, { csrf: 'x' })).toBe(true);
    expect(await load(session.sid)).toEqual({ id: session.id, userId: person.userId, data: { csrf: 'x' } });
  });

  test('never changes over to another person', async () => {
    const session = await start(person.userId);
    const other = await people.addPerson(organizationId, 'viewer');
    expect(await update(session, other.userId)).toBe(false);
    expect((await load(session.sid))?.userId).toBe(person.userId);
  });

  test('is not there for an unknown cookie, and storing does not make it', async () => {
    expect(await load('unknown')).toBeNull();
    expect(await update({ sid: 'unknown', id: 'ses_unknown' }, person.userId)).toBe(false);
    expect(await load('unknown')).toBeNull();
  });

  test('is stored under the hash of its cookie alone; a long user agent is cut', async () => {
    const sid = randomBytes(24).toString('base64url');
    const userAgent = '\u{1f600}'.repeat(400);
    const proof = await proofOf(people.deps.db, person.userId);
    await startSession(people.deps, { sid, proof, data: {}, userAgent, ip: null });
    await expectNotInDatabase(people.databaseUrl, sid);
    const shown = await listSessions(people.deps, person.userId);
    expect(shown.map((each) => each.userAgent)).toContain('\u{1f600}'.repeat(300));
    for (const each of shown) expect(each).not.toHaveProperty('hash');
  });
});

describe('a session that has ended', () => {
  test('is not brought back by a request that was running meanwhile', async () => {
    const session = await start(person.userId);
    const running = await load(session.sid);
    await signOut(people.deps, { userId: person.userId, sid: session.sid });
    expect(await update({ sid: session.sid, id: running?.id ?? '' }, person.userId)).toBe(false);
    expect(await load(session.sid)).toBeNull();
  });

  test('is not brought back by the request that made it, either', async () => {
    const [session, other] = [await start(person.userId), await start(person.userId)];
    await revokeOtherSessions(people.deps, { userId: person.userId, sid: other.sid });
    expect(await update(session, person.userId)).toBe(false);
    expect(await load(session.sid)).toBeNull();
  });

  test('is not made twice', async () => {
    const { sid } = await start(person.userId);
    const again = { sid, proof: await proofOf(people.deps.db, person.userId), data: {}, ...browser };
    await expect(startSession(people.deps, again)).rejects.toThrow();
  });
});

describe('the time of a session', () => {
  test('is over after twelve hours without use, also for storing', async () => {
    const session = await start(person.userId);
    people.time.ms += 12 * hourMs - 1;
    await extendSession(people.deps, session.id);
    people.time.ms += 12 * hourMs - 1;
    // That it is read is no use of it.
    expect(await load(session.sid)).not.toBeNull();
    people.time.ms += 1;
    expect(await load(session.sid)).toBeNull();
    await extendSession(people.deps, session.id);
    expect(await load(session.sid)).toBeNull();
    expect(await update(session, person.userId)).toBe(false);
    expect(await listSessions(people.deps, person.userId)).toEqual([]);
  });

  test('is over after seven days, however busy', async () => {
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

  test('is noted to the minute, so that not every request writes', async () => {
    const { id } = await start(person.userId);
    const seenAt = async () =>
      (await people.deps.db.session.findUnique({ where: { id } }))?.lastSeenAt.getTime();
    const startedAt = people.time.ms;
    people.time.ms += minuteMs - 1;
    await extendSession(people.deps, id);
    expect(await seenAt()).toBe(startedAt);
    people.time.ms += 1;
    await extendSession(people.deps, id);
    expect(await seenAt()).toBe(startedAt + minuteMs);
  });
});

describe('a session that begins with a password', () => {
  const changeTo = 'a quite different password';
  const verified = async (member: TestPerson): Promise<Proof> => {
    const outcome = await signIn(people.deps, member);
    if (outcome.kind !== 'signed-in') throw new Error(outcome.kind);
    return outcome.proof;
  };
  const refusal = { code: 'validation_error', message: expect.stringContaining('changed meanwhile') };
  const sessionsOf = (userId: string) => people.deps.db.session.count({ where: { userId } });

  test.for(['the person', 'the administration'])('does not begin once %s has changed it', async (who) => {
    const member = await people.addPerson(organizationId, 'viewer');
    const proof = await verified(member);
    const { userId, email, password } = member;
    if (who === 'the person') {
      const { sid } = await startWith(proof);
      const nextSid = newSid();
      await changePassword(people.deps, { userId, current: password, next: changeTo, sid, nextSid });
      await signOut(people.deps, { userId, sid: nextSid });
    } else {
      await resetPassword(people.deps, { organizationId, email, password: changeTo, actor: 'cli:test' });
    }
    await expect(startWith(proof)).rejects.toMatchObject(refusal);
    expect(await sessionsOf(userId)).toBe(0);
    const next = await verified({ ...member, password: changeTo });
    await expect(startWith(next)).resolves.toHaveProperty('id');
  });

  test('waits for a change that is under way, and does not begin then', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const proof = await verified(member);
    await withClient(people.databaseUrl, async (client) => {
      await client.query('BEGIN');
      await client.query(`UPDATE "user" SET password_hash = 'another' WHERE id = $1`, [member.userId]);
      const beginning = startWith(proof);
      beginning.catch(() => undefined);
      await waitForLock(client);
      await client.query('COMMIT');
      await expect(beginning).rejects.toMatchObject(refusal);
    });
    expect(await sessionsOf(member.userId)).toBe(0);
  });

  test('is ended by a change that waits for its beginning', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const proof = await verified(member);
    const { userId, email } = member;
    await withClient(people.databaseUrl, async (client) => {
      // The row cannot be inserted for a while; the password is held already.
      await client.query('BEGIN; LOCK TABLE session IN SHARE MODE');
      const beginning = startWith(proof);
      await waitForLock(client);
      const reset = resetPassword(people.deps, {
        ...{ organizationId, email, password: changeTo, actor: 'cli:test' },
      });
      await waitForLock(client, 2);
      await client.query('COMMIT');
      await Promise.all([beginning, reset]);
    });
    expect(await sessionsOf(userId)).toBe(0);
  });
});

describe('a person', () => {
  test('sees the own sessions, and ends one of them or all others', async () => {
    const { userId } = await people.addPerson(organizationId, 'viewer');
    const [first, second, third] = [await start(userId), await start(userId), await start(userId)];
    const stranger = await start(person.userId);
    expect((await listSessions(people.deps, userId)).map(({ id }) => id)).toEqual(
      [third, second, first].map(({ id }) => id),
    );
    const { sid } = second;
    expect(await revokeSession(people.deps, { userId, sid, id: stranger.id })).toBe(false);
    expect(await revokeSession(people.deps, { userId, sid, id: first.id })).toBe(true);
    expect(await load(first.sid)).toBeNull();
    expect(await revokeOtherSessions(people.deps, { userId, sid })).toBe(1);
    expect(await load(second.sid)).not.toBeNull();
    expect(await load(third.sid)).toBeNull();
    expect(await load(stranger.sid)).not.toBeNull();
  });

  test('whose session has ended ends none of the others with it', async () => {
    const { userId } = await people.addPerson(organizationId, 'viewer');
    const [stolen, own] = [await start(userId), await start(userId)];
    await revokeSession(people.deps, { userId, sid: own.sid, id: stolen.id });
    const { sid } = stolen;
    const refusal = { code: 'insufficient_scope', message: expect.stringContaining('signed out') };
    await expect(revokeOtherSessions(people.deps, { userId, sid })).rejects.toMatchObject(refusal);
    await expect(revokeSession(people.deps, { userId, sid, id: own.id })).rejects.toMatchObject(refusal);
    expect(await load(own.sid)).not.toBeNull();
  });

  test('whose two browsers end all others at the same moment keeps one of them', async () => {
    const { userId } = await people.addPerson(organizationId, 'viewer');
    const both = [await start(userId), await start(userId)];
    const { done, refusals } = await outcomesOf(
      both.map(({ sid }) => revokeOtherSessions(people.deps, { userId, sid })),
    );
    expect(done).toBe(1);
    expect(refusals).toMatchObject([{ code: 'insufficient_scope' }]);
    expect(await listSessions(people.deps, userId)).toHaveLength(1);
  });
});

describe('the audit log', () => {
  test('has the beginning and the end of each session, in every organization of the person', async () => {
    const { userId } = await people.addPerson(organizationId, 'viewer');
    const secondId = await people.addOrganization();
    await people.deps.db.membership.create({
      data: { organizationId: secondId, userId, role: 'viewer' },
    });
    const [first, second, third] = [await start(userId), await start(userId), await start(userId)];
    const { sid } = first;
    // What has ended already ends no second time.
    for (let time = 0; time < 2; time += 1) {
      await revokeSession(people.deps, { userId, sid, id: second.id });
    }
    for (let time = 0; time < 2; time += 1) await revokeOtherSessions(people.deps, { userId, sid });
    await signOut(people.deps, { userId, sid: first.sid });
    await signOut(people.deps, { userId, sid: first.sid });
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

  test('is written in one statement, however many organizations a person has', async () => {
    const { userId } = await people.addPerson(organizationId, 'viewer');
    for (let more = 0; more < 5; more += 1) {
      const id = await people.addOrganization();
      await people.deps.db.membership.create({ data: { organizationId: id, userId, role: 'viewer' } });
    }
    const [{ id }, { sid }] = [await start(userId), await start(userId)];
    const { statements, stop } = recordStatements();
    onTestFinished(stop);
    const db = openDatabase(people.databaseUrl, { poolSize: 1 });
    onTestFinished(() => db.$disconnect());
    await revokeSession({ ...people.deps, db }, { userId, sid, id });
    const written = await people.deps.db.auditLog.count({ where: { target: id, action: 'session.revoked' } });
    expect(written).toBe(6);
    expect(statements.filter(({ text }) => /^INSERT INTO .*"audit_log"/.test(text))).toHaveLength(1);
  });
});

describe('changing a password', () => {
  const next = 'a quite different password';
  const change = async ({ userId, password }: TestPerson, sid: string, to = next) => {
    const nextSid = newSid();
    await changePassword(people.deps, { userId, current: password, next: to, sid, nextSid });
    return nextSid;
  };

  test('ends all other sessions, and is told to every organization of the person', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const secondId = await people.addOrganization();
    await people.deps.db.membership.create({
      data: { organizationId: secondId, userId: member.userId, role: 'owner' },
    });
    const [own, other] = [await start(member.userId), await start(member.userId)];
    const nextSid = await change(member, own.sid);
    expect(await load(nextSid)).toMatchObject({ id: own.id, userId: member.userId });
    expect(await load(own.sid)).toBeNull();
    expect(await load(other.sid)).toBeNull();
    const told = await people.deps.db.auditLog.findMany({
      where: { target: member.userId, action: 'user.password_changed' },
    });
    expect(told.map((entry) => entry.organizationId).sort()).toEqual([organizationId, secondId].sort());
    expect(told[0]?.actor).toBe(`user:${member.userId}`);
    expect((await signIn(people.deps, member)).kind).toBe('refused');
    expect((await signIn(people.deps, { email: member.email, password: next })).kind).toBe('signed-in');
  });

  test('and the id of the session that goes on are one change: a fault between them leaves both', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { userId } = member;
    const [own, other] = [await start(userId), await start(userId)];
    await withClient(people.databaseUrl, async (client) => {
      await client.query(`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a fault'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE OF hash ON session FOR EACH ROW EXECUTE FUNCTION refuse()`);
      await expect(change(member, own.sid)).rejects.toThrow('a fault');
      await client.query('DROP FUNCTION refuse CASCADE');
    });
    expect((await signIn(people.deps, { email: member.email, password: next })).kind).toBe('refused');
    for (const { sid } of [own, other]) expect(await load(sid)).not.toBeNull();
  });

  test('is not done by a session that has ended, and leaves those that have not', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { userId, email } = member;
    const [revoked, own] = [await start(userId), await start(userId)];
    await revokeSession(people.deps, { userId, sid: own.sid, id: revoked.id });
    await expect(change(member, revoked.sid)).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(await load(own.sid)).not.toBeNull();
    expect((await signIn(people.deps, { email, password: next })).kind).toBe('refused');
  });

  test('needs the current one, and guesses at it lock the form, but nobody out', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { sid } = await start(member.userId);
    for (let count = 0; count < 5; count += 1) {
      const guess = change({ ...member, password: `wrong ${count}` }, sid);
      await expect(guess).rejects.toMatchObject({ code: 'validation_error' });
    }
    await expect(change(member, sid)).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 30 });
    expect((await signIn(people.deps, member)).kind).toBe('signed-in');
    // What signs in does not open the form, either.
    await expect(change(member, sid)).rejects.toMatchObject({ code: 'rate_limited' });
    const reset = { organizationId, email: member.email, password: next, actor: 'cli:test' };
    await resetPassword(people.deps, reset);
    const again = await start(member.userId);
    await change({ ...member, password: next }, again.sid, 'one more password');
  });

  test('waits for its turn to hash, and counts nothing when it is turned away', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const full = { ...people.deps, hashLimiter: fullLimiter() };
    const { sid } = await start(member.userId);
    const request = { userId: member.userId, current: 'wrong', next, sid, nextSid: newSid() };
    for (let count = 0; count < 6; count += 1) {
      await expect(changePassword(full, request)).rejects.toMatchObject({ code: 'service_unavailable' });
    }
    await change(member, sid);
  });

  test('needs another one that will do', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { sid } = await start(member.userId);
    for (const to of ['short', member.email, member.password]) {
      await expect(change(member, sid, to)).rejects.toMatchObject({
        code: 'validation_error',
        message: expect.stringMatching(/^next: /),
      });
    }
  });

  test('twice at the same moment happens once', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { sid } = await start(member.userId);
    const { done, refusals } = await outcomesOf(
      ['one new password', 'another new password'].map((to) => change(member, sid, to)),
    );
    expect(done).toBe(1);
    expect(refusals).toMatchObject([{ code: 'validation_error' }]);
  });

  test('by the administration ends every session and the lock', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { sid } = await start(member.userId);
    for (let count = 0; count < 5; count += 1) await signIn(people.deps, { ...member, password: 'wrong' });
    const request = { organizationId, email: member.email, password: next, actor: 'cli:test' };
    await resetPassword(people.deps, request);
    expect(await load(sid)).toBeNull();
    expect((await signIn(people.deps, { email: member.email, password: next })).kind).toBe('signed-in');
    expect(await people.audited(member.userId)).toEqual(['user.created', 'user.password_reset']);
    const elsewhere = { ...request, organizationId: await people.addOrganization() };
    await expect(resetPassword(people.deps, elsewhere)).rejects.toMatchObject({ code: 'not_found' });
  });
});
