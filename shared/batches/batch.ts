import { olderThan, type Position } from '../platform/cursor.ts';
import { type Database, Prisma, type RefundBatch } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { type RefundStatus, refundStatuses } from '../refunds/model/states.ts';
import type { RefundContent } from '../refunds/requests/key-requests.ts';

/** `strict`: an invalid row refuses the whole batch. `partial`: it is rejected, and the others go on. */
export const batchModes = ['strict', 'partial'] as const;
export type BatchMode = (typeof batchModes)[number];

export const batchStatuses = ['processing', 'paused', 'completed'] as const;
type BatchStatus = (typeof batchStatuses)[number];

/** The error code of rows that were left when the requester of their batch could not create refunds any more. */
export const requesterEnded = 'requester_ended';

export const rowStates = ['waiting', 'created', 'rejected'] as const;
export type RowState = (typeof rowStates)[number];

/** The most rows of a batch. */
export const maxRows = 10_000;

/** A valid row, as it is kept while it waits. Beside `remaining`, `amount` is what a person was shown to be left. */
export type RowContent = RefundContent & { idempotencyKey?: string | undefined };

/** A batch as clients see it, with its rows by state. */
export function toPublicBatch(batch: RefundBatch) {
  const { id, rowCount, waitingCount, rejectedCount, createdAt, completedAt } = batch;
  return {
    id,
    status: batch.status as BatchStatus,
    pauseReason: batch.pauseReason,
    mode: batch.mode as BatchMode,
    rows: {
      total: rowCount,
      waiting: waitingCount,
      created: rowCount - waitingCount - rejectedCount,
      rejected: rejectedCount,
    },
    createdAt: createdAt.toISOString(),
    completedAt: completedAt?.toISOString() ?? null,
  };
}

/**
 * Reads a batch.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's.
 */
export async function findBatch(
  db: Pick<Database, 'refundBatch'>,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<RefundBatch> {
  const batch = isId('bat', id) ? await db.refundBatch.findUnique({ where: { id } }) : null;
  if (batch?.organizationId === organizationId && batch.environment === environment) return batch;
  throw new ServiceError('not_found', 'Refund batch not found.');
}

/** The batches of an owner that are older than a position, the newest first. */
export async function findBatches(
  db: Database,
  { organizationId, environment }: RefundOwner,
  { before = null, limit, offset = 0 }: { before?: Position | null; limit: number; offset?: number },
): Promise<RefundBatch[]> {
  return await db.refundBatch.findMany({
    where: { organizationId, environment, ...olderThan(before) },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
    skip: offset,
  });
}

/** How many refunds of a batch have each status. */
export async function countRefundsOf(db: Database, batchId: string): Promise<Record<RefundStatus, number>> {
  const counts = await db.$queryRaw<{ status: RefundStatus; count: number }[]>`
    SELECT r.status::text, count(*)::int AS count
    FROM refund_batch_row AS row JOIN refund AS r ON r.id = row.refund_id
    WHERE row.batch_id = ${batchId} GROUP BY r.status`;
  const none = Object.fromEntries(refundStatuses.map((status) => [status, 0])) as Record<
    RefundStatus,
    number
  >;
  return { ...none, ...Object.fromEntries(counts.map(({ status, count }) => [status, count])) };
}

/** A row with what came of it, and its refund as it is now. */
export interface RowResult {
  row: number;
  state: RowState;
  transactionId: string | null;
  refundId: string | null;
  /** Minor units. */
  amount: number | null;
  currency: string | null;
  refundStatus: RefundStatus | null;
  /** Why it has no refund or not yet, or why its refund failed. */
  errorCode: string | null;
  errorMessage: string | null;
}

/** Rows after a number, up to `limit`, in their order. */
export async function readResults(
  db: Database,
  batchId: string,
  { after, limit, state }: { after: number; limit: number; state?: RowState | undefined },
): Promise<RowResult[]> {
  const rows = await db.$queryRaw<(Omit<RowResult, 'amount'> & { amount: bigint | null })[]>`
    SELECT row.number AS "row", row.state, coalesce(r.transaction_id, row.transaction_id) AS "transactionId", r.id AS "refundId",
      r.amount, r.currency, r.status::text AS "refundStatus",
      coalesce(r.failure_code, row.error_code) AS "errorCode", coalesce(r.failure_message, row.error_message) AS "errorMessage"
    FROM refund_batch_row AS row LEFT JOIN refund AS r ON r.id = row.refund_id
    WHERE row.batch_id = ${batchId} AND row.number > ${after}
      AND ${state === undefined ? Prisma.sql`true` : Prisma.sql`row.state = ${state}`}
    ORDER BY row.number LIMIT ${limit}`;
  return rows.map((row) => ({ ...row, amount: row.amount === null ? null : Number(row.amount) }));
}
