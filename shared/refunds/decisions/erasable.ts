import { type Database, Prisma } from '../../platform/database.ts';
import { erasedText } from '../../platform/erasure.ts';
import type { RefundOwner } from '../model/refund.ts';
import type { RefundFilter } from '../queries/refund-filter.ts';
import { findFrom, type RefundCursor, type RefundPosition } from '../queries/search-refunds.ts';

const batchSize = 1_000;

/**
 * The ids of the refunds that a filter finds and that have something to erase, newest first: also those with something that was
 * stored after an earlier erasure.
 */
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
      SELECT id FROM refund WHERE id = ANY(${found.map(({ id }) => id)}) AND ${hasErasableText}
      ORDER BY created_at DESC, id DESC`;
    erasable.push(...rows.map(({ id }) => id));
    const last = found.at(-1);
    if (last === undefined || found.length < batchSize) return erasable;
    cursor = { direction: 'older', position: last };
  }
}

/** Joins the events of its processor to a `refund`, as `event`: those about the refund and those about its payment. */
export const processorEventsOfRefund = Prisma.sql`
  processor_account AS account
  CROSS JOIN LATERAL (
    SELECT by_id.* FROM processor_event AS by_id WHERE by_id.refund_id = refund.id
    UNION ALL
    SELECT by_id.* FROM processor_event AS by_id WHERE by_id.external_refund_id = refund.external_refund_id
    UNION ALL
    SELECT by_id.* FROM (
      SELECT unnest(ARRAY[refund.payment_id, refund.transaction_id])
      UNION
      SELECT alias.transaction_id FROM payment AS alias
      WHERE alias.organization_id = refund.organization_id AND alias.environment = refund.environment
        AND alias.processor = refund.processor AND alias.alias_of = refund.payment_id
    ) AS payment_ids(id) JOIN processor_event AS by_id ON by_id.transaction_id = payment_ids.id
    -- By these ids alone: an account may have millions of events.
    OFFSET 0
  ) AS event
  WHERE account.organization_id = refund.organization_id AND account.environment = refund.environment
    AND account.processor = refund.processor AND account.id = event.account_id`;

/** Joins the attempts to deliver its events to a `refund`, as `attempt`. */
export const attemptsOfRefund = Prisma.sql`
  refund_event AS event
  JOIN webhook_endpoint AS endpoint ON endpoint.organization_id = event.organization_id
    AND endpoint.environment = event.environment
  JOIN webhook_delivery AS delivery ON delivery.endpoint_id = endpoint.id AND delivery.event_id = event.id
  JOIN webhook_attempt AS attempt ON attempt.delivery_id = delivery.id
  WHERE event.refund_id = refund.id AND event.position IS NOT NULL`;

/** Whether anything of a `refund` is left to erase. Filters of exports need no check: they are erased together with the metadata. */
const hasErasableText = Prisma.sql`(
  metadata IS NOT NULL OR failure_message <> ${erasedText}
  OR EXISTS (
    SELECT FROM refund_event AS event
    WHERE event.refund_id = refund.id AND (event.failure_message <> ${erasedText} OR ${hasErasableTextIn('event.detail')}))
  OR EXISTS (
    SELECT FROM audit_log AS entry
    WHERE entry.organization_id = refund.organization_id AND entry.target = refund.id AND ${hasErasableTextIn('entry.detail')})
  OR EXISTS (SELECT FROM refund_work AS w WHERE w.refund_id = refund.id AND w.flag_facts ? 'message')
  OR EXISTS (SELECT FROM reconciliation_finding AS f WHERE f.refund_id = refund.id AND f.facts ? 'message')
  OR EXISTS (SELECT FROM ${processorEventsOfRefund} AND event.payload <> ${erasedText})
  OR EXISTS (SELECT FROM ${attemptsOfRefund} AND attempt.response_body <> ${erasedText}))`;

function hasErasableTextIn(detail: string): Prisma.Sql {
  const column = Prisma.raw(detail);
  return Prisma.sql`(${column}->>'reason' <> ${erasedText} OR ${column} @? '$.**.message ? (@ != "(erased)")')`;
}
