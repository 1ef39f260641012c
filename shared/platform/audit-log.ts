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
  | 'refund.erased'
  | 'refunds.export_started'
  | 'refunds.exported'
  | 'policies.set'
  | 'key.created'
  | 'key.renamed'
  | 'key.limits_set'
  | 'key.stopped'
  | 'key.resumed'
  | 'key.revoked'
  | 'account.set'
  | 'account.tested'
  | 'webhook_endpoint.created'
  | 'webhook_endpoint.changed'
  | 'webhook_endpoint.secret_rotated'
  | 'webhook_endpoint.disabled'
  | 'webhook_endpoint.deleted'
  | 'webhook_endpoint.tested'
  | 'webhook_endpoint.delivery_retried'
  | 'webhook_endpoint.replayed'
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
  | 'user.second_factor_enabled'
  | 'user.second_factor_disabled'
  | 'user.second_factor_reset'
  | 'user.recovery_code_used'
  | 'user.recovery_codes_replaced'
  | 'user.disabled'
  | 'user.enabled'
  | 'user.deleted'
  | 'session.revoked'
  | 'sessions.revoked'
  | 'queue.retry_requested'
  | 'queue.promotion_requested'
  | 'organization.created'
  | 'organization.second_factor_required'
  | 'organization.second_factor_optional'
  | 'organization.four_eyes_days_set';

/** An act of administration: who did what to which. It is kept for good, so nothing secret goes into it. */
export interface AuditEntry {
  organizationId: string;
  /** Who did it: `cli:<user of the machine>`, `user:<id>`, `key:<id>`. */
  actor: string;
  action: AuditAction;
  /** The id of what was changed. */
  target: string;
  detail?: Prisma.InputJsonObject;
}

/** Writes an act down in the database transaction that carries it out, so that neither exists without the other. */
export async function writeAudit(tx: DatabaseTransaction, entry: AuditEntry, now: Date): Promise<void> {
  await tx.auditLog.create({ data: rowOf(entry, now) });
}

/** Writes several acts down, in one statement. */
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

/**
 * Writes down in each organization of a person what concerns all of them: a session and a password open every one, and the
 * queues are those of all. For who belongs to none there is no log to write to.
 */
export async function auditEverywhere(
  tx: DatabaseTransaction,
  { userId, ...entry }: Omit<AuditEntry, 'organizationId'> & { userId: string },
  now: Date,
): Promise<void> {
  const memberships = await tx.membership.findMany({ where: { userId }, select: { organizationId: true } });
  const entries = memberships.map(({ organizationId }) => ({ organizationId, ...entry }));
  await writeAudits(tx, entries, now);
}

/** Conditions on entries. A missing one matches everything. */
export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
}

/** Some entries in a row, the newest first. */
export interface AuditPage {
  entries: AuditLog[];
  /** The last of them, if older ones follow: `before` of the next page. */
  next: string | null;
}

/**
 * Reads a page of an organization's audit log, the newest entries first.
 * @param request.before the id of the entry after which the page begins; the newest one unless given.
 * @throws ServiceError not_found for a `before` that is no entry of the organization.
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

/** Entries before the given one. The time condition uses the index; ids order entries of the same time. */
async function olderThan(
  db: Database,
  organizationId: string,
  id: string,
): Promise<Prisma.AuditLogWhereInput> {
  const last = await db.auditLog.findUnique({ where: { id, organizationId } });
  if (last === null) throw new ServiceError('not_found', 'Audit log entry not found.');
  const { createdAt } = last;
  return { createdAt: { lte: createdAt }, NOT: { createdAt, id: { gte: id } } };
}

/** Entries that one statement reads. */
const batchSize = 1_000;

/** Reads an organization's entries of a time range, oldest first, a batch at a time. */
export async function* auditEntries(
  db: Database,
  { organizationId, since, until }: { organizationId: string; since: Date; until: Date },
): AsyncGenerator<AuditLog> {
  let from = since;
  let after: { NOT?: Prisma.AuditLogWhereInput } = {};
  for (;;) {
    const entries = await db.auditLog.findMany({
      where: { organizationId, createdAt: { gte: from, lt: until }, ...after },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      take: batchSize,
    });
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < batchSize) return;
    from = last.createdAt;
    after = { NOT: { createdAt: from, id: { lte: last.id } } };
  }
}
