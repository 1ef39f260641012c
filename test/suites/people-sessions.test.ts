import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { changePassword, resetPassword } from '../../shared/people/password-change.ts';
import {
  endSession,
  listSessions,
  loadSession,
  noteUse,
  revokeOtherSessions,
  revokeSession,
  saveSession,
} from '../../shared/people/sessions.ts';
import { signIn } from '../../shared/people/sign-in.ts';
import { expectNotInDatabase } from '../harness/database-content.ts';
import { outcomesOf, type TestPerson, usePeople } from '../harness/people.ts';

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
async function startSession(userId: string | null): Promise<{ sid: string; id: string }> {
  const sid = randomBytes(24).toString('base64url');
  const id = await saveSession(people.deps, { sid, id: null, userId, data: {}, ...browser });
  if (id === null) throw new Error('A new session is always stored.');
  return { sid, id };
}

const load = (sid: string) => loadSession(people.deps, sid);
const save = (session: { sid: string; id: string | null }, userId: string | null, data = {}) =>
  saveSession(people.deps, { ...session, userId, data, ...browser });

describe('a session', () => {
  test("is made before sign-in, becomes a person's, and keeps what the library stores", async () => {
    const session = await startSession(null);
    expect(await load(session.sid)).toEqual({ id: session.id, userId: null, data: {} });
    expect(await save(session, person.userId, { csrf: 'x' })).toBe(session.id);
    expect(await load(session.sid)).toEqual({ id: session.id, userId: person.userId, data: { csrf: 'x' } });
  });

  test('never changes over to another person', async () => {
    const session = await startSession(person.userId);
    const other = await people.addPerson(organizationId, 'viewer');
    expect(await save(session, other.userId)).toBeNull();
    expect(await save(session, null)).toBeNull();
    expect((await load(session.sid))?.userId).toBe(person.userId);
  });

  test('is not there for an unknown cookie, and saving does not make it', async () => {
    expect(await load('unknown')).toBeNull();
    expect(await save({ sid: 'unknown', id: 'ses_unknown' }, null)).toBeNull();
    expect(await load('unknown')).toBeNull();
  });

  test('is stored under the hash of its cookie alone; a long user agent is cut', async () => {
    const sid = randomBytes(24).toString('base64url');
    const userAgent = '\u{1f600}'.repeat(400);
    await saveSession(people.deps, { sid, id: null, userId: person.userId, data: {}, userAgent, ip: null });
    await expectNotInDatabase(people.databaseUrl, sid);
    const shown = await listSessions(people.deps, person.userId);
    expect(shown.map((each) => each.userAgent)).toContain('\u{1f600}'.repeat(300));
    for (const each of shown) expect(each).not.toHaveProperty('hash');
  });
});

describe('a session that has ended', () => {
  test('is not brought back by a request that was running meanwhile', async () => {
    const session = await startSession(person.userId);
    const running = await load(session.sid);
    await endSession(people.deps.db, session.sid);
    expect(await save({ sid: session.sid, id: running?.id ?? '' }, person.userId)).toBeNull();
    expect(await load(session.sid)).toBeNull();
  });

  test('is not brought back by the request that made it, either', async () => {
    const session = await startSession(person.userId);
    await revokeOtherSessions(people.deps.db, person.userId, null);
    expect(await save(session, person.userId)).toBeNull();
    expect(await load(session.sid)).toBeNull();
  });

  test('is not made twice', async () => {
    const { sid } = await startSession(null);
    await expect(save({ sid, id: null }, null)).rejects.toThrow();
  });
});

describe('the time of a session', () => {
  test('is over after twelve hours without use, also for saving', async () => {
    const session = await startSession(person.userId);
    people.time.ms += 12 * hourMs - 1;
    await noteUse(people.deps, session.id);
    people.time.ms += 12 * hourMs - 1;
    // That it is read is no use of it.
    expect(await load(session.sid)).not.toBeNull();
    people.time.ms += 1;
    expect(await load(session.sid)).toBeNull();
    await noteUse(people.deps, session.id);
    expect(await load(session.sid)).toBeNull();
    expect(await save(session, person.userId)).toBeNull();
    expect(await listSessions(people.deps, person.userId)).toEqual([]);
  });

  test('is over after seven days, however busy', async () => {
    const session = await startSession(person.userId);
    for (let hours = 0; hours < 7 * 24 - 8; hours += 8) {
      people.time.ms += 8 * hourMs;
      await noteUse(people.deps, session.id);
      expect(await load(session.sid), `after ${hours} hours`).not.toBeNull();
    }
    people.time.ms += 8 * hourMs - 1;
    await noteUse(people.deps, session.id);
    expect(await load(session.sid)).not.toBeNull();
    people.time.ms += 1;
    expect(await load(session.sid)).toBeNull();
  });

  test('is noted to the minute, so that not every request writes', async () => {
    const { id } = await startSession(person.userId);
    const seenAt = async () =>
      (await people.deps.db.session.findUnique({ where: { id } }))?.lastSeenAt.getTime();
    const startedAt = people.time.ms;
    people.time.ms += minuteMs - 1;
    await noteUse(people.deps, id);
    expect(await seenAt()).toBe(startedAt);
    people.time.ms += 1;
    await noteUse(people.deps, id);
    expect(await seenAt()).toBe(startedAt + minuteMs);
  });
});

describe('a person', () => {
  test('sees the own sessions, and ends one of them or all others', async () => {
    const { userId } = await people.addPerson(organizationId, 'viewer');
    const [first, second, third] = [
      await startSession(userId),
      await startSession(userId),
      await startSession(userId),
    ];
    const stranger = await startSession(person.userId);
    expect((await listSessions(people.deps, userId)).map(({ id }) => id)).toEqual(
      [third, second, first].map(({ id }) => id),
    );
    expect(await revokeSession(people.deps.db, userId, stranger.id)).toBe(false);
    expect(await revokeSession(people.deps.db, userId, first.id)).toBe(true);
    expect(await load(first.sid)).toBeNull();
    expect(await revokeOtherSessions(people.deps.db, userId, second.sid)).toBe(1);
    expect(await load(second.sid)).not.toBeNull();
    expect(await load(third.sid)).toBeNull();
    expect(await load(stranger.sid)).not.toBeNull();
  });
});

describe('changing a password', () => {
  const next = 'a quite different password';
  const change = ({ userId, password }: TestPerson, sid: string, to = next) =>
    changePassword(people.deps, { userId, current: password, next: to, sid });

  test('ends all other sessions, and is told to every organization of the person', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const secondId = await people.addOrganization();
    await people.deps.db.membership.create({
      data: { organizationId: secondId, userId: member.userId, role: 'owner' },
    });
    const [own, other] = [await startSession(member.userId), await startSession(member.userId)];
    await change(member, own.sid);
    expect(await load(own.sid)).not.toBeNull();
    expect(await load(other.sid)).toBeNull();
    const told = await people.deps.db.auditLog.findMany({
      where: { target: member.userId, action: 'user.password_changed' },
    });
    expect(told.map((entry) => entry.organizationId).sort()).toEqual([organizationId, secondId].sort());
    expect(told[0]?.actor).toBe(`user:${member.userId}`);
    expect((await signIn(people.deps, member)).kind).toBe('refused');
    expect((await signIn(people.deps, { email: member.email, password: next })).kind).toBe('signed-in');
  });

  test('needs the current one, and guesses at it lock the address', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { sid } = await startSession(member.userId);
    for (let count = 0; count < 5; count += 1) {
      const guess = change({ ...member, password: `wrong ${count}` }, sid);
      await expect(guess).rejects.toMatchObject({ code: 'validation_error' });
    }
    await expect(change(member, sid)).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 30 });
    expect(await signIn(people.deps, member)).toEqual({ kind: 'locked', retryAfterSeconds: 30 });
  });

  test('needs another one that will do', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    for (const to of ['short', member.email, member.password]) {
      await expect(change(member, 'sid', to)).rejects.toMatchObject({
        code: 'validation_error',
        message: expect.stringMatching(/^next: /),
      });
    }
  });

  test('twice at the same moment happens once', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { done, refusals } = await outcomesOf(
      ['one new password', 'another new password'].map((to) => change(member, 'sid', to)),
    );
    expect(done).toBe(1);
    expect(refusals).toMatchObject([{ code: 'validation_error' }]);
  });

  test('by the administration ends every session and the lock', async () => {
    const member = await people.addPerson(organizationId, 'viewer');
    const { sid } = await startSession(member.userId);
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
