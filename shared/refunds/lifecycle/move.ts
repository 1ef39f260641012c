import type { DatabaseTransaction, Prisma, Refund } from '../../db.ts';
import { newId } from '../../ids.ts';
import type { RefundEventType } from '../model/event-types.ts';
import { type RowJson, refundFrom } from '../model/rows.ts';
import { canMove, type RefundStatus } from '../model/states.ts';

/** An entry of the timeline. */
export interface TimelineEntry {
  type: RefundEventType;
  /** Who caused it: `key:<id>`, `user:<id>`, `worker`, or `cli:<user>` for administration. */
  actor: string;
  detail?: Prisma.InputJsonObject;
}

/** A move that is only made when the refund still has the status that the caller believes it to have. */
export interface Move {
  refund: Pick<Refund, 'id'>;
  from: RefundStatus;
  to: RefundStatus;
  /** Columns that it sets besides the status. */
  change?: Partial<Pick<Refund, 'externalRefundId' | 'processorStatus' | 'failureCode' | 'failureMessage'>>;
  entry: TimelineEntry;
}

/**
 * Moves a refund within the caller's database transaction; prisma/functions/move_refund.sql says what that does. The caller
 * has locked the payment when the move gives the reservation back.
 * @returns the refund as it is now, or null when it has moved meanwhile and nothing was changed.
 * @throws TypeError for a move that is not in the state table, which is a bug of the caller.
 */
export async function moveRefund(
  tx: DatabaseTransaction,
  { refund, from, to, change = {}, entry }: Move,
): Promise<Refund | null> {
  if (!canMove(from, to)) throw new TypeError(`A refund cannot move from ${from} to ${to}`);
  const columns = JSON.stringify({
    external_refund_id: change.externalRefundId ?? undefined,
    processor_status: change.processorStatus ?? undefined,
    failure_code: change.failureCode ?? undefined,
    failure_message: change.failureMessage ?? undefined,
  });
  const [row] = await tx.$queryRaw<{ moved: RowJson }[]>`
    SELECT to_jsonb(move_refund(${refund.id}, ${from}::refund_status, ${to}::refund_status, ${columns}::jsonb,
      ${newId('evt')}, ${entry.type}, ${entry.actor}, ${JSON.stringify(entry.detail ?? {})}::jsonb, service_time())) AS moved`;
  return row?.moved?.id == null ? null : refundFrom(row.moved);
}

/** Adds an entry to a refund's timeline and leaves the refund as it is. The caller holds the refund's row or its work. */
export async function noteOnRefund(
  tx: DatabaseTransaction,
  { id }: Pick<Refund, 'id'>,
  { type, actor, detail = {} }: TimelineEntry,
): Promise<void> {
  await tx.$queryRaw`
    SELECT append_refund_event(${newId('evt')}, refund, NULL, ${type}, ${actor}, ${JSON.stringify(detail)}::jsonb, service_time())::text
    FROM refund WHERE id = ${id}`;
}
