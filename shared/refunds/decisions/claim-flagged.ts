import type { Refund } from '../../platform/database.ts';
import type { Claim } from '../lifecycle/claim.ts';
import type { RefundDependencies } from '../lifecycle/dependencies.ts';
import { leaseMs } from '../model/lookup-proof.ts';
import { type RowJson, refundFrom, workFrom } from '../model/rows.ts';

/** A flagged refund under a person's lease. */
export type FlaggedClaim = Pick<Claim, 'refund' | 'work' | 'now'>;

/**
 * Claims a flagged refund in any status for a person's decision. From then on, results of earlier claims are rejected, and
 * no worker claims it until the decision is recorded or the lease expires. The due time does not change.
 * @param flaggedAt the time of the flag that the person has seen.
 * @returns null when another lease is active or the flag has changed.
 */
export async function claimFlagged(
  { db, settings }: Pick<RefundDependencies, 'db' | 'settings'>,
  refund: Pick<Refund, 'id' | 'status'>,
  flaggedAt: Date,
): Promise<FlaggedClaim | null> {
  const [row] = await db.$queryRaw<{ work: RowJson; refund: RowJson; now: Date }[]>`
    WITH claimed AS (
      UPDATE refund_work SET
        leased_until = service_time() + ${leaseMs(settings)} * interval '1 millisecond', lease_token = nextval('lease_token')
      WHERE refund_id = ${refund.id} AND flagged_at = ${flaggedAt}
        AND (leased_until IS NULL OR leased_until <= service_time())
      RETURNING *)
    SELECT to_jsonb(claimed) AS work, to_jsonb(refund) AS refund, service_time() AS now
    FROM claimed JOIN refund ON refund.id = claimed.refund_id AND refund.status = ${refund.status}::refund_status`;
  if (row === undefined) return null;
  return {
    refund: refundFrom(row.refund),
    work: workFrom(row.work),
    now: row.now,
  };
}

/** Ends the lease without a decision. */
export async function releaseFlagged(
  { db }: Pick<RefundDependencies, 'db'>,
  { work }: Pick<Claim, 'work'>,
): Promise<void> {
  await db.refundWork.updateMany({
    where: { refundId: work.refundId, leaseToken: work.leaseToken },
    data: { leasedUntil: null, enqueuedAt: null },
  });
}
