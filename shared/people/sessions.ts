import { createHash } from 'node:crypto';
import type { DatabaseTransaction, Prisma, Session } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { newId } from '../ids.ts';

const minuteMs = 60 * 1000;

/** A session ends after so long without use ... */
const idleMs = 12 * 60 * minuteMs;
/** ... and after so long in all. */
const wholeMs = 7 * 24 * 60 * minuteMs;

const longestUserAgent = 300;

/** A session as it is worked with in a request. */
export interface LoadedSession {
  /** The row's own name, `ses_...`; to be given back to `saveSession`. */
  id: string;
  userId: string | null;
  data: Prisma.JsonValue;
}

/** A session as it may be shown: nothing of the cookie, nothing of what the library keeps. */
export type SessionSummary = Omit<Session, 'hash' | 'data' | 'userId'>;

/**
 * Stores what the session library keeps. A session that has ended meanwhile stays ended: only a request that says that
 * it made the session itself inserts a row, everybody else can do no more than change one.
 * @param session.id as `loadSession` or an earlier call told it; null when this request has made the session.
 * @param session.userId a session that belongs to a person never changes to another one.
 * @returns the session's id, to be kept for the next call; null when it has ended.
 * @throws for a session id that is stored already and said to be new.
 */
export async function saveSession(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  session: {
    sid: string;
    id: string | null;
    userId: string | null;
    data: Prisma.InputJsonObject;
    userAgent: string | null;
    ip: string | null;
  },
): Promise<string | null> {
  const { sid, id, userId, data, ip } = session;
  const now = clock.now();
  const hash = hashOf(sid);
  if (id !== null) {
    const owner = { OR: [{ userId: null }, { userId }] };
    const where = { id, hash, expiresAt: { gt: now }, ...owner };
    const { count } = await db.session.updateMany({ where, data: { userId, data } });
    return count === 1 ? id : null;
  }
  const userAgent =
    session.userAgent === null ? null : [...session.userAgent].slice(0, longestUserAgent).join('');
  const times = { createdAt: now, lastSeenAt: now, expiresAt: expiryOf(now, now) };
  const row = { id: newId('ses'), hash, userId, data, userAgent, ip, ...times };
  await db.session.create({ data: row });
  return row.id;
}

/** The session of a cookie, or null when there is none, or its time is over. Reading it is no use of it. */
export async function loadSession(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  sid: string,
): Promise<LoadedSession | null> {
  const where = { hash: hashOf(sid), expiresAt: { gt: clock.now() } };
  const row = await db.session.findUnique({ where });
  return row === null ? null : { id: row.id, userId: row.userId, data: row.data };
}

/**
 * Notes that somebody uses a session, which puts off its end; once a minute at most. One that has ended stays ended.
 * @param id as `loadSession` tells it.
 */
export async function noteUse({ db, clock }: Pick<Dependencies, 'db' | 'clock'>, id: string): Promise<void> {
  const now = clock.now();
  const due = { lastSeenAt: { lte: new Date(now.getTime() - minuteMs) }, expiresAt: { gt: now } };
  const row = await db.session.findUnique({ where: { id, ...due }, select: { createdAt: true } });
  if (row === null) return;
  await db.session.updateMany({
    where: { id, ...due },
    data: { lastSeenAt: now, expiresAt: expiryOf(row.createdAt, now) },
  });
}

/** Ends the session of a cookie for good. Doing it again changes nothing. */
export async function endSession(db: DatabaseTransaction, sid: string): Promise<void> {
  await db.session.deleteMany({ where: { hash: hashOf(sid) } });
}

/** A person's sessions that have not ended, the one seen last first. */
export async function listSessions(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  userId: string,
): Promise<SessionSummary[]> {
  return await db.session.findMany({
    where: { userId, expiresAt: { gt: clock.now() } },
    omit: { hash: true, data: true, userId: true },
    orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }],
  });
}

/** Ends one of a person's sessions; answers whether there was such a session. */
export async function revokeSession(db: DatabaseTransaction, userId: string, id: string): Promise<boolean> {
  const { count } = await db.session.deleteMany({ where: { id, userId } });
  return count === 1;
}

/**
 * Ends a person's sessions but for the one of a cookie; answers how many.
 * @param exceptSid null to end all of them.
 */
export async function revokeOtherSessions(
  db: DatabaseTransaction,
  userId: string,
  exceptSid: string | null,
): Promise<number> {
  const kept = exceptSid === null ? {} : { hash: { not: hashOf(exceptSid) } };
  const { count } = await db.session.deleteMany({ where: { userId, ...kept } });
  return count;
}

function expiryOf(createdAt: Date, seenAt: Date): Date {
  return new Date(Math.min(seenAt.getTime() + idleMs, createdAt.getTime() + wholeMs));
}

function hashOf(sid: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(sid).digest());
}
