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
  OR EXISTS (
    SELECT FROM webhook_delivery AS delivery
    WHERE delivery.refund_id = refund.id AND delivery.attempts @? '$[*].responseBody ? (@ != "(erased)")'))`;

function hasErasableTextIn(detail: string): Prisma.Sql {
  const column = Prisma.raw(detail);
  return Prisma.sql`(${column}->>'reason' <> ${erasedText} OR ${column} @? '$.**.message ? (@ != "(erased)")')`;
}
