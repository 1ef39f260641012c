import type { Database } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';

/** A finished batch with rows that never got a refund, or whose refunds failed, since a person last saw to it. */
export interface UnseenBatch {
  id: string;
  completedAt: Date;
  rejectedCount: number;
  /** Among the newest failed refunds of the owner. */
  failedCount: number;
}

/** The newest batches that are listed, and the newest failed refunds that are looked at. */
const limits = { listed: 10, failed: 100 };

/** Those of an owner, the newest first. */
export async function findUnseenBatches(db: Database, owner: RefundOwner): Promise<UnseenBatch[]> {
  return await db.$queryRaw<UnseenBatch[]>`
    WITH rejected AS MATERIALIZED (
      SELECT id FROM refund_batch
      WHERE ${ownerSql(owner)} AND completed_at IS NOT NULL AND seen_at IS NULL AND rejected_count > 0
      ORDER BY completed_at DESC LIMIT ${limits.listed}
    ), failed AS MATERIALIZED (
      SELECT of.batch_id, r.updated_at FROM (
        SELECT id, updated_at FROM refund WHERE ${ownerSql(owner)} AND status = 'failed'
        ORDER BY created_at DESC, id DESC LIMIT ${limits.failed}) AS r
      -- One by one: the planner would otherwise read the whole table.
      CROSS JOIN LATERAL (SELECT batch_id FROM refund_batch_row WHERE refund_id = r.id OFFSET 0) AS of
    )
    SELECT b.id, b.completed_at AS "completedAt", b.failed_count AS "failedCount",
      CASE WHEN b.seen_at IS NULL THEN b.rejected_count ELSE 0 END AS "rejectedCount"
    FROM (SELECT id FROM rejected UNION SELECT batch_id FROM failed) AS either
    CROSS JOIN LATERAL (
      SELECT each.*, (
        SELECT count(*)::int FROM failed
        WHERE batch_id = each.id AND updated_at > coalesce(each.seen_at, '-infinity')) AS failed_count
      FROM refund_batch AS each WHERE each.id = either.id OFFSET 0) AS b
    WHERE b.completed_at IS NOT NULL AND (b.failed_count > 0 OR b.seen_at IS NULL)
    ORDER BY b.completed_at DESC, b.id LIMIT ${limits.listed}`;
}
