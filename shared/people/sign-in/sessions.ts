import { type AuditAction, auditEverywhere } from '../../audit/audit-log.ts';
import type { DatabaseTransaction, Prisma, Session, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { sha256 } from '../../platform/secrets/secrets.ts';

const minuteMs = 60 * 1000;

/** A session expires after this long without use ... */
const idleMs = 12 * 60 * minuteMs;
/** ... and after this long in any case. */
export const sessionLifeMs = 7 * 24 * 60 * minuteMs;

const maxUserAgentLength = 300;

/** A session as a request uses it. */
interface LoadedSession {
  /** `ses_...`, the argument of `updateSession`. */
  id: string;
  userId: string;
  data: Prisma.JsonValue;
}

/** Proof that a user has just shown the password with this hash, and the second factor if the user has one. */
export interface Proof {
  userId: string;
  passwordHash: string;
  /** When the second factor that was shown was enabled. */
  secondFactorEnabledAt?: Date | undefined;
  /** The organization whose provider signed the user in, in place of password and second factor. */
  companyOf?: string;
}

/** Proof for a session that replaces those that a change has ended. Call it in the transaction of the change. */
export async function currentProof(tx: DatabaseTransaction, userId: string): Promise<Proof> {
  const { passwordHash, secondFactor } = await tx.user.findUniqueOrThrow({
    where: { id: userId },
    include: { secondFactor: true },
  });
  return { userId, passwordHash, secondFactorEnabledAt: secondFactor?.enabledAt };
}

interface NewSession {
  /** The secret id in the cookie; only its hash is stored. */
  sid: string;
  proof: Proof;
  data: Prisma.InputJsonObject;
  userAgent: string | null;
  ip: string | null;
}

/**
 * Stores a new session and audits the sign-in in every organization of the user. Password and second factor are locked
 * against changes meanwhile, so that no session starts with an old one. Only this function inserts sessions: an ended one stays ended.
 * @returns the session's id, for `updateSession`.
 * @throws ServiceError validation_error when the password or the second factor has changed since it was checked; any
 * error for a known sid.
 */
export async function startSession({ db, clock }: Stores, session: NewSession): Promise<string> {
  const { sid, proof, data, ip } = session;
  const now = clock.now();
  const userAgent =
    session.userAgent === null ? null : [...session.userAgent].slice(0, maxUserAgentLength).join('');
  const times = { createdAt: now, lastSeenAt: now, expiresAt: expiryOf(now, now) };
  const { userId } = proof;
  const row = { id: newId('ses'), hash: sha256(sid), userId, data, userAgent, ip, ...times };
  await db.$transaction(async (tx) => {
    await lockPassword(tx, proof);
    if (proof.companyOf === undefined) await checkSecondFactor(tx, proof);
    await tx.session.create({ data: row });
    const detail = proof.companyOf === undefined ? {} : { with: 'company account' };
    await auditEverywhere(tx, { userId, action: 'user.signed_in', target: row.id, detail }, now);
  });
  return row.id;
}

/** Locks the user's password and second factor until the transaction ends. */
async function lockPassword(tx: DatabaseTransaction, { userId, passwordHash }: Proof): Promise<void> {
  const locked = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM "user" WHERE id = ${userId} AND password_hash = ${passwordHash} AND disabled_at IS NULL FOR SHARE`;
  if (locked.length === 1) return;
  const message = 'The password was just changed, or the user was disabled. Sign in again.';
  throw new ServiceError('validation_error', message);
}

/** A statement after the lock, because one that waits for a lock does not see what was committed meanwhile in other tables. */
async function checkSecondFactor(
  tx: DatabaseTransaction,
  { userId, secondFactorEnabledAt }: Proof,
): Promise<void> {
  const required = await tx.secondFactor.findUnique({ where: { userId } });
  if (required === null || required.enabledAt.getTime() === secondFactorEnabledAt?.getTime()) return;
  throw new ServiceError('validation_error', 'The second factor was just changed. Sign in again.');
}

/**
 * Updates the data of a session unless it has ended. The user of a session never changes.
 * @returns whether the session still exists.
 */
export async function updateSession(
  { db, clock }: Stores,
  { sid, id, userId, data }: { sid: string; id: string; userId: string; data: Prisma.InputJsonObject },
): Promise<boolean> {
  const where = { id, hash: sha256(sid), userId, expiresAt: { gt: clock.now() } };
  const { count } = await db.session.updateMany({ where, data: { data } });
  return count === 1;
}

/**
 * Prevents a session from ending before the transaction does.
 * @throws ServiceError insufficient_scope when it has ended.
 */
export async function lockSession(
  tx: DatabaseTransaction,
  { sid, userId, now }: { sid: string; userId: string; now: Date },
): Promise<void> {
  const locked = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM session
    WHERE hash = ${sha256(sid)} AND user_id = ${userId} AND expires_at > ${now} FOR SHARE`;
  if (locked.length === 0) throw sessionEnded();
}

/** The error for a request whose session has ended. */
export function sessionEnded(): ServiceError {
  return new ServiceError('insufficient_scope', 'You are signed out. Sign in and try again.');
}

/** Loads the session of a cookie; null for an unknown or expired one. Loading does not extend it. */
export async function loadSession({ db, clock }: Stores, sid: string): Promise<LoadedSession | null> {
  const where = { hash: sha256(sid), expiresAt: { gt: clock.now() } };
  const row = await db.session.findUnique({ where });
  return row === null ? null : { id: row.id, userId: row.userId, data: row.data };
}

/** Extends a session because it was used; writes once a minute at most. An expired session stays expired. */
export async function extendSession({ db, clock }: Stores, id: string): Promise<void> {
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

/** A session without its secrets, for display. */
export type SessionSummary = Omit<Session, 'hash' | 'data' | 'userId'>;

/** The most sessions that are listed. */
const sessionsListed = 100;

/** A user's active sessions, the most recently used first. */
export async function listSessions({ db, clock }: Stores, userId: string): Promise<SessionSummary[]> {
  return await db.session.findMany({
    where: { userId, expiresAt: { gt: clock.now() } },
    omit: { hash: true, data: true, userId: true },
    orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }],
    take: sessionsListed,
  });
}

/** Ends the session of a cookie and audits the sign-out; does nothing when it has ended already. */
export async function signOut(
  { db, clock }: Stores,
  { userId, sid }: { userId: string; sid: string },
): Promise<void> {
  await db.$transaction(async (tx) => {
    const session = await tx.session.findUnique({ where: { hash: sha256(sid), userId } });
    if (session === null) return;
    await endOne(tx, { userId, id: session.id, action: 'user.signed_out' }, clock.now());
  });
}

/**
 * Ends one of a user's sessions.
 * @param request.sid the session that makes the request.
 * @returns whether there was such a session.
 * @throws ServiceError insufficient_scope when the requesting session has ended.
 */
export async function revokeSession(
  { db, clock }: Stores,
  { userId, sid, id }: { userId: string; sid: string; id: string },
): Promise<boolean> {
  const now = clock.now();
  return await db.$transaction(async (tx) => {
    await lockOwnSession(tx, { userId, sid, now });
    return await endOne(tx, { userId, id, action: 'session.revoked' }, now);
  });
}

/**
 * Ends all sessions of a user except the requesting one.
 * @returns how many were ended.
 * @throws ServiceError insufficient_scope when the requesting session has ended.
 */
export async function revokeOtherSessions(
  { db, clock }: Stores,
  { userId, sid }: { userId: string; sid: string },
): Promise<number> {
  const now = clock.now();
  return await db.$transaction(async (tx) => {
    await lockOwnSession(tx, { userId, sid, now });
    const count = await endSessionsOf(tx, userId, sid);
    if (count === 0) return 0;
    await auditEverywhere(tx, { userId, action: 'sessions.revoked', detail: { count } }, now);
    return count;
  });
}

/** Locks the user first, so that two sessions that end each other neither deadlock nor both succeed. */
export async function lockOwnSession(
  tx: DatabaseTransaction,
  session: { sid: string; userId: string; now: Date },
): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "user" WHERE id = ${session.userId} FOR NO KEY UPDATE`;
  await lockSession(tx, session);
}

async function endOne(
  tx: DatabaseTransaction,
  { userId, id, action }: { userId: string; id: string; action: AuditAction },
  now: Date,
): Promise<boolean> {
  const { count } = await tx.session.deleteMany({ where: { id, userId } });
  if (count === 0) return false;
  await auditEverywhere(tx, { userId, action, target: id }, now);
  return true;
}

/**
 * Ends a user's sessions as part of a change that has its own audit entry.
 * @param exceptSid the session to keep; null ends all of them.
 * @returns how many were ended.
 */
export async function endSessionsOf(
  tx: DatabaseTransaction,
  userId: string,
  exceptSid: string | null,
): Promise<number> {
  const kept = exceptSid === null ? {} : { hash: { not: sha256(exceptSid) } };
  const { count } = await tx.session.deleteMany({ where: { userId, ...kept } });
  return count;
}
