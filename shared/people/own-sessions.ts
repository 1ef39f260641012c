import { type AuditAction, auditEverywhere } from '../platform/audit-log.ts';
import type { DatabaseTransaction, Session } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { actorOf } from './acting.ts';
import { hashOf, holdSession } from './sessions.ts';

/** A session as it may be shown: nothing of the cookie, nothing of what the library keeps. */
export type SessionSummary = Omit<Session, 'hash' | 'data' | 'userId'>;

/** A person's sessions that have not ended, the one seen last first. */
export async function listSessions(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  userId: string,
): Promise<SessionSummary[]> {
  return await db.session.findMany({
    where: { userId, expiresAt: { gt: clock.now() } },
    omit: { hash: true, data: true, userId: true },
    orderBy: [{ lastSeenAt: 'desc' }, { id: 'desc' }],
  });
}

/** Signs a person out: ends the session of a cookie for good. Doing it again changes nothing, and is not written down. */
export async function signOut(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  { userId, sid }: { userId: string; sid: string },
): Promise<void> {
  await deps.db.$transaction(async (tx) => {
    const session = await tx.session.findUnique({ where: { hash: hashOf(sid), userId } });
    if (session === null) return;
    await endOne(deps, tx, { userId, id: session.id, action: 'user.signed_out' });
  });
}

/**
 * Ends one of a person's sessions; answers whether there was such a session.
 * @param request.sid of the session in which the person orders it.
 * @throws ServiceError insufficient_scope when that one has ended.
 */
export async function revokeSession(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  { userId, sid, id }: { userId: string; sid: string; id: string },
): Promise<boolean> {
  return await deps.db.$transaction(async (tx) => {
    await holdOwnSession(tx, { userId, sid, now: deps.clock.now() });
    return await endOne(deps, tx, { userId, id, action: 'session.revoked' });
  });
}

/** One after the other: of two sessions that end each other one stays, and neither waits for ever. */
async function holdOwnSession(
  tx: DatabaseTransaction,
  held: { sid: string; userId: string; now: Date },
): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "user" WHERE id = ${held.userId} FOR NO KEY UPDATE`;
  await holdSession(tx, held);
}

async function endOne(
  { clock }: Pick<PlatformDependencies, 'clock'>,
  tx: DatabaseTransaction,
  { userId, id, action }: { userId: string; id: string; action: AuditAction },
): Promise<boolean> {
  const { count } = await tx.session.deleteMany({ where: { id, userId } });
  if (count === 0) return false;
  await auditEverywhere(tx, { userId, actor: actorOf({ userId }), action, target: id }, clock.now());
  return true;
}

/**
 * Ends a person's sessions but for the one of a cookie, in which the person orders it; answers how many.
 * @throws ServiceError insufficient_scope when that one has ended.
 */
export async function revokeOtherSessions(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  { userId, sid }: { userId: string; sid: string },
): Promise<number> {
  const now = clock.now();
  return await db.$transaction(async (tx) => {
    await holdOwnSession(tx, { userId, sid, now });
    const count = await endSessionsOf(tx, userId, sid);
    if (count === 0) return 0;
    const act = { actor: actorOf({ userId }), action: 'sessions.revoked', target: userId } as const;
    await auditEverywhere(tx, { userId, ...act, detail: { count } }, now);
    return count;
  });
}

/**
 * Ends a person's sessions as a part of another act, which is written down; answers how many.
 * @param exceptSid of the one that stays; null to end all of them.
 */
export async function endSessionsOf(
  tx: DatabaseTransaction,
  userId: string,
  exceptSid: string | null,
): Promise<number> {
  const kept = exceptSid === null ? {} : { hash: { not: hashOf(exceptSid) } };
  const { count } = await tx.session.deleteMany({ where: { userId, ...kept } });
  return count;
}
