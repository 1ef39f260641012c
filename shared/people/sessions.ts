import { createHash } from 'node:crypto';
import { auditEverywhere } from '../platform/audit-log.ts';
import type { DatabaseTransaction, Prisma } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { actorOf } from './acting.ts';

const minuteMs = 60 * 1000;

/** A session ends after so long without use ... */
const idleMs = 12 * 60 * minuteMs;
/** ... and after so long in all. */
export const sessionLifeMs = 7 * 24 * 60 * minuteMs;

const longestUserAgent = 300;

/** A session as it is worked with in a request. */
export interface LoadedSession {
  /** The row's own name, `ses_...`; to be given back to `updateSession`. */
  id: string;
  userId: string;
  data: Prisma.JsonValue;
}

/** Who has shown who they are: by the password that has this hash. */
export interface Proof {
  userId: string;
  passwordHash: string;
}

/** A session that begins. */
export interface NewSession {
  sid: string;
  proof: Proof;
  data: Prisma.InputJsonObject;
  userAgent: string | null;
  ip: string | null;
}

/**
 * Stores a session that the request has made itself; nobody else inserts one, so that one which has ended stays ended. It
 * begins only while the password that was shown still counts: whoever changes it waits for this, or this for them.
 * To sign in is written down in every organization of the person.
 * @returns the session's id, for `updateSession`.
 * @throws ServiceError validation_error when the password was changed meanwhile; any error for a session id that is stored already.
 */
export async function startSession(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  session: NewSession,
): Promise<string> {
  const { sid, proof, data, ip } = session;
  const now = clock.now();
  const userAgent =
    session.userAgent === null ? null : [...session.userAgent].slice(0, longestUserAgent).join('');
  const times = { createdAt: now, lastSeenAt: now, expiresAt: expiryOf(now, now) };
  const { userId } = proof;
  const row = { id: newId('ses'), hash: hashOf(sid), userId, data, userAgent, ip, ...times };
  await db.$transaction(async (tx) => {
    await holdPassword(tx, proof);
    await tx.session.create({ data: row });
    const act = { actor: actorOf({ userId }), action: 'user.signed_in', target: row.id } as const;
    await auditEverywhere(tx, { userId, ...act }, now);
  });
  return row.id;
}

/** Keeps the password of a person what it was when it was shown, until the transaction is over. */
async function holdPassword(tx: DatabaseTransaction, { userId, passwordHash }: Proof): Promise<void> {
  const held = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM "user" WHERE id = ${userId} AND password_hash = ${passwordHash} FOR SHARE`;
  if (held.length === 1) return;
  const message = 'The password was changed meanwhile. Sign in with the new one.';
  throw new ServiceError('validation_error', message);
}

/**
 * Stores what the session library keeps of a session that has begun; one that has ended meanwhile stays ended.
 * @param session.id as `loadSession` or `startSession` told it.
 * @param session.userId a session never changes to another person.
 * @returns whether there is such a session still.
 */
export async function updateSession(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  { sid, id, userId, data }: { sid: string; id: string; userId: string; data: Prisma.InputJsonObject },
): Promise<boolean> {
  const where = { id, hash: hashOf(sid), userId, expiresAt: { gt: clock.now() } };
  const { count } = await db.session.updateMany({ where, data: { data } });
  return count === 1;
}

/**
 * Keeps a person's session from ending until the transaction is over.
 * @throws ServiceError insufficient_scope when it has ended.
 */
export async function holdSession(
  tx: DatabaseTransaction,
  { sid, userId, now }: { sid: string; userId: string; now: Date },
): Promise<void> {
  const held = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM session
    WHERE hash = ${hashOf(sid)} AND user_id = ${userId} AND expires_at > ${now} FOR SHARE`;
  if (held.length === 1) return;
  throw sessionOver();
}

/**
 * Gives a person's session another id; what the cookie had before opens nothing any more.
 * @throws ServiceError insufficient_scope when it has ended.
 */
export async function renameSession(
  tx: DatabaseTransaction,
  { sid, nextSid, userId, now }: { sid: string; nextSid: string; userId: string; now: Date },
): Promise<void> {
  const { count } = await tx.session.updateMany({
    where: { hash: hashOf(sid), userId, expiresAt: { gt: now } },
    data: { hash: hashOf(nextSid) },
  });
  if (count === 0) throw sessionOver();
}

/** What is said to whose session has ended. */
export function sessionOver(): ServiceError {
  return new ServiceError('insufficient_scope', 'You are signed out. Sign in again and repeat.');
}

/** The session of a cookie, or null when there is none, or its time is over. Reading it is no use of it. */
export async function loadSession(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  sid: string,
): Promise<LoadedSession | null> {
  const where = { hash: hashOf(sid), expiresAt: { gt: clock.now() } };
  const row = await db.session.findUnique({ where });
  if (row === null) return null;
  return { id: row.id, userId: row.userId, data: row.data };
}

/**
 * Notes that somebody uses a session, which puts off its end; once a minute at most. One that has ended stays ended.
 * @param id as `loadSession` tells it.
 */
export async function noteUse(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  id: string,
): Promise<void> {
  const now = clock.now();
  const due = { lastSeenAt: { lte: new Date(now.getTime() - minuteMs) }, expiresAt: { gt: now } };
  const row = await db.session.findUnique({ where: { id, ...due }, select: { createdAt: true } });
  if (row === null) return;
  await db.session.updateMany({
    where: { id, ...due },
    data: { lastSeenAt: now, expiresAt: expiryOf(row.createdAt, now) },
  });
}

function expiryOf(createdAt: Date, seenAt: Date): Date {
  return new Date(Math.min(seenAt.getTime() + idleMs, createdAt.getTime() + sessionLifeMs));
}

/** Under what a session is stored. */
export function hashOf(sid: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(sid).digest());
}
