import { olderThan, type Position } from '../platform/cursor.ts';
import type { AuditLog, Database, DatabaseTransaction, Prisma } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';

/** The actions in the audit log with their labels for people, in display order. */
export const auditActions = {
  'refund.created': 'Created refund',
  'refund.cancel_requested': 'Requested cancellation of refund',
  'refund.approved': 'Approved refund',
  'refund.rejected': 'Rejected refund',
  'refund.resolved': 'Resolved refund',
  'refund.flag_dismissed': 'Dismissed flag of refund',
  'refund.rechecked': 'Rechecked refund',
  'refund.note_added': 'Added note to refund',
  'refund.erased': 'Erased personal data of refund',
  'refund_batch.created': 'Created refund batch',
  'refund_batch.paused': 'Paused refund batch',
  'refund_batch.resumed': 'Resumed refund batch',
  'refund_batch.dismissed': 'Dismissed refund batch',
  'refunds.export_started': 'Started export of refunds',
  'refunds.exported': 'Exported refunds',
  'audit_log.export_started': 'Started export of activity',
  'audit_log.exported': 'Exported activity',
  'policies.set': 'Changed policies',
  'key.created': 'Created API key',
  'key.renamed': 'Renamed API key',
  'key.limits_set': 'Set limits of API key',
  'key.stopped': 'Stopped API key',
  'key.resumed': 'Resumed API key',
  'key.revoked': 'Revoked API key',
  'account.set': 'Set credentials of processor account',
  'account.sent_metadata_set': 'Set metadata that is sent to processor',
  'account.rate_set': 'Set call rate of processor account',
  'account.defaults_set': 'Set defaults of refunds of processor account',
  'account.tested': 'Tested connection of processor account',
  'webhook_endpoint.created': 'Created webhook endpoint',
  'webhook_endpoint.changed': 'Changed webhook endpoint',
  'webhook_endpoint.secret_rotated': 'Rotated secret of webhook endpoint',
  'webhook_endpoint.disabled': 'Disabled webhook endpoint',
  'webhook_endpoint.deleted': 'Deleted webhook endpoint',
  'webhook_endpoint.tested': 'Sent test event to webhook endpoint',
  'webhook_endpoint.delivery_retried': 'Retried delivery of webhook endpoint',
  'webhook_endpoint.replayed': 'Replayed deliveries of webhook endpoint',
  'invitation.created': 'Created invitation',
  'invitation.revoked': 'Revoked invitation',
  'member.added': 'Added member',
  'member.role_changed': 'Changed role of member',
  'member.mails_chosen': 'Chose mails of member',
  'member.removed': 'Removed member',
  'member.linked': 'Linked company account of member',
  'company_sign_in.set': 'Set company sign-in',
  'company_sign_in.disabled': 'Disabled company sign-in',
  'company_sign_in.enforced': 'Required company sign-in',
  'company_sign_in.optional': 'Stopped requiring company sign-in',
  'company_sign_in.refused': 'Refused company sign-in',
  'notification_channel.set': 'Set notification channel',
  'notification_channel.removed': 'Removed notification channel',
  'notification_channel.tested': 'Sent test to notification channel',
  'user.created': 'Created user',
  'user.signed_in': 'Signed in',
  'user.signed_out': 'Signed out',
  'user.password_changed': 'Changed password',
  'user.password_reset': 'Reset password',
  'user.second_factor_enabled': 'Enabled second factor',
  'user.second_factor_disabled': 'Turned off second factor',
  'user.second_factor_reset': 'Reset second factor',
  'user.recovery_code_used': 'Used recovery code',
  'user.recovery_codes_replaced': 'Replaced recovery codes',
  'user.disabled': 'Disabled user',
  'user.enabled': 'Enabled user',
  'user.deleted': 'Deleted user',
  'session.revoked': 'Signed out another session',
  'sessions.revoked': 'Signed out all other sessions',
  'organization.created': 'Created organization',
  'organization.second_factor_required': 'Required second factor',
  'organization.second_factor_optional': 'Stopped requiring second factor',
  'organization.four_eyes_days_set': 'Set how long an invitation rules out approval',
  'organization.hourly_confirmation_set': 'Set how often refunds ask for a confirmation',
  'organization.refund_columns_set': 'Set columns of refunds',
  'organization.customer_texts_set': 'Set the message to customers',
} as const;

export type AuditAction = keyof typeof auditActions;

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
 * @param entry.actor the person unless given, as is `target`.
 */
export async function auditEverywhere(
  tx: DatabaseTransaction,
  { userId, ...entry }: Pick<AuditEntry, 'action'> & Partial<AuditEntry> & { userId: string },
  now: Date,
): Promise<void> {
  const memberships = await tx.membership.findMany({ where: { userId }, select: { organizationId: true } });
  const act = { actor: `user:${userId}`, target: userId, ...entry };
  const entries = memberships.map(({ organizationId }) => ({ ...act, organizationId }));
  await writeAudits(tx, entries, now);
}

/** Conditions on entries. A missing one matches everything. */
export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  /** Inclusive. */
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

function whereOf(
  organizationId: string,
  { actor, action, since, until }: AuditFilter,
): Prisma.AuditLogWhereInput {
  return {
    organizationId,
    ...(actor === undefined ? {} : { actor }),
    ...(action === undefined ? {} : { action }),
    createdAt: {
      ...(since === undefined ? {} : { gte: since }),
      ...(until === undefined ? {} : { lt: until }),
    },
  };
}

/** The entries of an organization that are older than a position, the newest first. */
export async function findAuditEntries(
  db: Database,
  { organizationId, ...filter }: AuditFilter & { organizationId: string },
  before: Position | null,
  limit: number,
): Promise<AuditLog[]> {
  return await db.auditLog.findMany({
    where: { AND: [whereOf(organizationId, filter), olderThan(before)] },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
}

/** Entries that one statement reads. */
const batchSize = 1_000;

/** Reads an organization's entries of a time range, oldest first, a batch at a time. */
export async function* auditBatches(
  db: Database,
  { organizationId, ...filter }: AuditFilter & { organizationId: string; since: Date; until: Date },
): AsyncGenerator<AuditLog[]> {
  let { since } = filter;
  let after: Prisma.AuditLogWhereInput = {};
  for (;;) {
    const entries = await db.auditLog.findMany({
      where: { AND: [whereOf(organizationId, { ...filter, since }), after] },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      take: batchSize,
    });
    yield entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < batchSize) return;
    since = last.createdAt;
    after = { NOT: { createdAt: since, id: { lte: last.id } } };
  }
}
