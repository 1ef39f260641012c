import { type AuditAction, writeAudits } from '../../platform/audit-log.ts';
import { type Database, type DatabaseTransaction, Prisma } from '../../platform/database.ts';
import type { PlatformDependencies } from '../../platform/dependencies.ts';
import { announceErasure, erasedText, erasureTimeoutMs } from '../../platform/erasure.ts';
import type { RefundOwner } from '../model/refund.ts';
import type { RefundFilter } from '../queries/refund-filter.ts';
import { findFrom, type RefundCursor, type RefundPosition } from '../queries/search-refunds.ts';

/** Each batch goes through the audit log of the organization once. */
const batchSize = 1_000;

/**
 * Erases the personal data of an organization's refunds: metadata, the reasons that people gave, and what processors and webhook
 * receivers said. Amounts, statuses, ids, idempotency keys and timelines stay. Repeating it is harmless.
 * @param request.refundIds ids of refunds of this organization.
 */
export async function eraseRefunds(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  request: { organizationId: string; refundIds: readonly string[]; actor: string },
): Promise<void> {
  const { organizationId, refundIds, actor } = request;
  for (let start = 0; start < refundIds.length; start += batchSize) {
    const ids = refundIds.slice(start, start + batchSize).toSorted();
    const act = { organizationId, actor, action: 'refund.erased' as const };
    const erase = (tx: DatabaseTransaction) => eraseBatch(tx, ids, act, deps.clock.now());
    await deps.db.$transaction(erase, { timeout: erasureTimeoutMs });
  }
}

/** The ids of the refunds that a filter finds and that have something to erase, newest first. */
export async function findErasable(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
): Promise<string[]> {
  const erasable: string[] = [];
  let cursor: RefundCursor | null = null;
  // A batch at a time, because there may be millions.
  for (;;) {
    const found: RefundPosition[] = await findFrom(db, owner, filter, cursor, batchSize);
    const rows = await db.$queryRaw<{ id: string }[]>`
      SELECT id FROM refund
      WHERE id = ANY(${found.map(({ id }) => id)}) AND (metadata IS NOT NULL OR failure_message <> ${erasedText} OR EXISTS (
        SELECT FROM refund_event AS event
        WHERE event.refund_id = refund.id AND (detail->>'reason' <> ${erasedText} OR detail @? '$.**.message ? (@ != "(erased)")')
      ) OR EXISTS (
        SELECT FROM refund_work AS w WHERE w.refund_id = refund.id AND flag_facts->>'message' <> ${erasedText}
      ) OR EXISTS (
        SELECT FROM reconciliation_finding AS f WHERE f.refund_id = refund.id AND facts->>'message' <> ${erasedText}))
      ORDER BY created_at DESC, id DESC`;
    erasable.push(...rows.map(({ id }) => id));
    const last = found.at(-1);
    if (last === undefined || found.length < batchSize) return erasable;
    cursor = { direction: 'older', position: last };
  }
}

interface ErasedRefund {
  id: string;
  environment: string;
  externalRefundId: string | null;
  transactionId: string;
  paymentId: string;
}

async function eraseBatch(
  tx: DatabaseTransaction,
  ids: readonly string[],
  act: { organizationId: string; actor: string; action: AuditAction },
  now: Date,
): Promise<void> {
  const { organizationId } = act;
  await announceErasure(tx);
  // Sorted, so that erasures of the same refunds wait for each other.
  const refunds = await tx.$queryRaw<ErasedRefund[]>`
    SELECT id, environment::text, external_refund_id AS "externalRefundId", transaction_id AS "transactionId",
      payment_id AS "paymentId"
    FROM refund WHERE id = ANY(${[...ids]}) AND organization_id = ${organizationId}
    ORDER BY id FOR NO KEY UPDATE`;
  const refundIds = refunds.map(({ id }) => id);
  await eraseFromExports(tx, organizationId, refundIds);
  await tx.$executeRaw`
    UPDATE audit_log SET detail = ${erasedDetail} WHERE organization_id = ${organizationId} AND target = ANY(${refundIds})`;
  await tx.$executeRaw`
    UPDATE refund_event SET detail = ${erasedDetail}, failure_message = CASE WHEN failure_message IS NOT NULL THEN ${erasedText} END
    WHERE refund_id = ANY(${refundIds})`;
  await tx.$executeRaw`
    UPDATE refund_work SET flag_facts = flag_facts - 'message' WHERE refund_id = ANY(${refundIds}) AND flag_facts ? 'message'`;
  await tx.$executeRaw`
    UPDATE reconciliation_finding SET facts = facts - 'message' WHERE refund_id = ANY(${refundIds}) AND facts ? 'message'`;
  await eraseProcessorEvents(tx, organizationId, refunds);
  await eraseResponses(tx, organizationId, refundIds);
  await tx.$executeRaw`
    UPDATE refund SET metadata = NULL, failure_message = CASE WHEN failure_message IS NOT NULL THEN ${erasedText} END
    WHERE id = ANY(${refundIds})`;
  const entries = refunds.map(({ id, environment }) => ({ ...act, target: id, detail: { environment } }));
  await writeAudits(tx, entries, now);
}

/** The `detail` of timelines and the audit log without the words of people and processors. */
const erasedDetail = Prisma.sql`(detail
  || CASE WHEN detail ? 'reason' THEN jsonb_build_object('reason', ${erasedText}::text) ELSE '{}' END
  || CASE WHEN detail ? 'message' THEN jsonb_build_object('message', ${erasedText}::text) ELSE '{}' END)
  #- '{flag,facts,message}' #- '{settled,facts,message}' #- '{against,facts,message}'`;

/** Filters of exports, which name values of metadata. */
async function eraseFromExports(
  tx: DatabaseTransaction,
  organizationId: string,
  refundIds: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    UPDATE audit_log SET detail = jsonb_set(detail, '{filter}', to_jsonb(${erasedText}::text))
    WHERE organization_id = ${organizationId} AND action IN ('refunds.export_started', 'refunds.exported')
      AND jsonb_typeof(detail->'filter') = 'object'
      AND EXISTS (
        SELECT FROM refund, jsonb_each_text(metadata) AS erased
        WHERE refund.id = ANY(${[...refundIds]}) AND jsonb_typeof(metadata) = 'object'
          AND (detail->'filter'->'metadata'->>erased.key = erased.value OR detail->'filter'->>'q' = erased.value))`;
}

/** What processors sent about the refunds and their payments. */
async function eraseProcessorEvents(
  tx: DatabaseTransaction,
  organizationId: string,
  refunds: readonly ErasedRefund[],
): Promise<void> {
  const paymentIds = refunds.map(({ paymentId }) => paymentId);
  const aliases = await tx.payment.findMany({
    where: { organizationId, aliasOf: { in: paymentIds } },
    select: { transactionId: true },
  });
  const transactionIds = [...refunds, ...aliases].map(({ transactionId }) => transactionId);
  // An id that two accounts of the organization share erases more than necessary, which is harmless.
  await tx.$executeRaw`
    UPDATE processor_event AS e SET payload = ${erasedText}
    FROM processor_account AS a
    WHERE a.organization_id = ${organizationId} AND e.account_id = a.id
      AND (e.refund_id = ANY(${refunds.map(({ id }) => id)})
        OR e.external_refund_id = ANY(${refunds.flatMap(({ externalRefundId }) => externalRefundId ?? [])})
        OR e.transaction_id = ANY(${[...paymentIds, ...transactionIds]}))`;
}

/** What receivers of webhooks responded, who may repeat what they received. */
async function eraseResponses(
  tx: DatabaseTransaction,
  organizationId: string,
  refundIds: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    UPDATE webhook_attempt AS attempt SET response_body = ${erasedText}
    FROM webhook_endpoint AS endpoint
    JOIN webhook_delivery AS delivery ON delivery.endpoint_id = endpoint.id
    JOIN refund_event AS event ON event.id = delivery.event_id
    WHERE endpoint.organization_id = ${organizationId} AND event.refund_id = ANY(${[...refundIds]})
      AND event.position IS NOT NULL AND attempt.delivery_id = delivery.id AND attempt.response_body IS NOT NULL`;
}
