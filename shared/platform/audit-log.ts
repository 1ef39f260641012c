import type { AuditLog, Database, DatabaseTransaction, Prisma } from './database.ts';
import { ServiceError } from './errors.ts';
import { newId } from './ids.ts';

/** The actions in the audit log; api/dashboard/pages/settings/audit-table.tsx has their texts. */
export type AuditAction =
  | 'refund.created'
  | 'refund.cancel_requested'
  | 'refund.approved'
  | 'refund.rejected'
  | 'refund.resolved'
  | 'refund.flag_dismissed'
  | 'refund.rechecked'
  | 'refunds.export_started'
  | 'refunds.exported'
  | 'policies.set'
  | 'key.created'
  | 'key.revoked'
  | 'account.set'
  | 'account.tested'
  | 'invitation.created'
  | 'invitation.revoked'
  | 'member.added'
  | 'member.role_changed'
  | 'member.removed'
  | 'user.created'
  | 'user.signed_in'
  | 'user.signed_out'
  | 'user.password_changed'
  | 'user.password_reset'
  | 'session.revoked'
  | 'sessions.revoked'
  | 'queue.retry_requested'
  | 'queue.promotion_requested'
  | 'organization.created';

/** An entry of the audit log. It is kept forever, so it holds no secrets. */
export interface AuditEntry {
  organizationId: string;
  /** `cli:<user of the machine>` or `user:<id>`. */
  actor: string;
  action: AuditAction;
  /** The id of the changed object. */
  target: string;
  detail?: Prisma.InputJsonObject;
}

/** Adds an entry in the database transaction of the change, so that neither exists without the other. */
export async function writeAudit(tx: DatabaseTransaction, entry: AuditEntry, now: Date): Promise<void> {
  await tx.auditLog.create({ data: rowOf(entry, now) });
}

/** Adds several entries in one statement. */
export async function writeAudits(
  tx: DatabaseTransaction,
  entries: readonly AuditEntry[],
  now: Date,
): Promise<void> {
  await tx.auditLog.createMany({ data: entries.map((entry) => rowOf(entry, now)) });
}

function rowOf(entry: AuditEntry, now: Date): Prisma.AuditLogCreateManyInput {
  return { detail: {}, ...entry, id: newId('aud'), createdAt: now };
}

/** Adds an entry in every organization of a user, for actions that concern all of them: sessions, passwords and queues. */
export async function auditEverywhere(
  tx: DatabaseTransaction,
  { userId, ...entry }: Omit<AuditEntry, 'organizationId'> & { userId: string },
  now: Date,
): Promise<void> {
  const memberships = await tx.membership.findMany({ where: { userId }, select: { organizationId: true } });
  const entries = memberships.map(({ organizationId }) => ({ organizationId, ...entry }));
  await writeAudits(tx, entries, now);
}

export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
}

/** A page of entries, newest first. */
export interface AuditPage {
  entries: AuditLog[];
  /** `before` of the next page; null on the last one. */
  next: string | null;
}

/**
 * Reads a page of an organization's audit log, newest first.
 * @param request.before the id of the entry that precedes the page; the page begins with the newest entry by default.
 * @throws ServiceError not_found for a `before` that is not an entry of the organization.
 */
export async function readAuditLog(
  db: Database,
  request: AuditFilter & { organizationId: string; before?: string | undefined; limit: number },
): Promise<AuditPage> {
  const { organizationId, actor, action, before, limit } = request;
  const found = await db.auditLog.findMany({
    where: {
      organizationId,
      ...(actor === undefined ? {} : { actor }),
      ...(action === undefined ? {} : { action }),
      ...(before === undefined ? {} : await olderThan(db, organizationId, before)),
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit + 1,
  });
  const entries = found.slice(0, limit);
  return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null };
}

/** Entries of the same time are ordered by id. The condition on the time alone lets the index find the start. */
async function olderThan(
  db: Database,
  organizationId: string,
  id: string,
): Promise<Prisma.AuditLogWhereInput> {
  const last = await db.auditLog.findUnique({ where: { id, organizationId } });
  if (last === null) throw new ServiceError('not_found', 'No such entry of the audit log.');
  const { createdAt } = last;
  return { createdAt: { lte: createdAt }, NOT: { createdAt, id: { gte: id } } };
}
