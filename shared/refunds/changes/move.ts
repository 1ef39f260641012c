import type { DatabaseTransaction, Prisma, Refund } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { RefundArrival } from '../../processors/contract/processor.ts';
import type { RefundEventType } from '../model/event-types.ts';
import { type RowJson, refundFrom, toItems } from '../model/rows.ts';
import type { RefundStatus } from '../model/states.ts';

export interface TimelineEntry {
  type: RefundEventType;
  /** Who did it: `key:<id>`, `user:<id>`, `worker`, `service`, or `cli:<user>`. */
  actor: string;
  detail?: Prisma.InputJsonObject;
}

/** Columns that a move sets besides the status. Null or left out: unchanged. */
export type RefundChange = Partial<
  Pick<Refund, 'externalRefundId' | 'processorStatus' | 'failureCode' | 'failureMessage'>
> & {
  arrival?: RefundArrival;
  /** Empty for none. */
  metadata?: Prisma.InputJsonObject;
};

/** An item of `move_refunds`. */
export interface MoveItem {
  refundId: string;
  expected: RefundStatus;
  entries: readonly {
    eventId: string;
    type: RefundEventType;
    to: RefundStatus;
    detail?: Prisma.InputJsonObject | undefined;
  }[];
  change: RefundChange;
}

/** A move from an expected status. */
export interface Move {
  refund: Pick<Refund, 'id'>;
  from: RefundStatus;
  to: RefundStatus;
  change?: RefundChange;
  entry: TimelineEntry;
}

/**
 * Moves a refund in the caller's database transaction; see prisma/functions/refunds/move_refunds.sql.
 * @returns the refund as it is now; null when it was not in the expected status and nothing was changed.
 */
export async function moveRefund(
  tx: DatabaseTransaction,
  { refund, from: expected, to, change = {}, entry: { type, actor, detail } }: Move,
): Promise<Refund | null> {
  const entries = [{ eventId: newId('evt'), type, to, detail }];
  const item: MoveItem = { refundId: refund.id, expected, entries, change };
  const [row] = await tx.$queryRaw<{ moved: RowJson }[]>`
    SELECT to_jsonb(moved) AS moved
    FROM move_refunds(${toItems([item])}::jsonb, ${actor}, service_time()) AS moved`;
  return row === undefined ? null : refundFrom(row.moved);
}

/**
 * Adds an entry to a refund's timeline, and changes columns besides the status. The caller has read the refund under the locks of its
 * payment and its work.
 * @returns the refund as it is now.
 */
export async function noteOnRefund(
  tx: DatabaseTransaction,
  refund: Pick<Refund, 'id' | 'status'>,
  entry: TimelineEntry,
  change: RefundChange = {},
): Promise<Refund> {
  const moved = await moveRefund(tx, { refund, from: refund.status, to: refund.status, change, entry });
  if (moved === null) throw new Error('A locked refund has moved');
  return moved;
}
