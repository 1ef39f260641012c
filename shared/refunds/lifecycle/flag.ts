import { lockPayment } from '../../payments/payment.ts';
import type { DatabaseTransaction, Refund } from '../../platform/database.ts';
import { noteOnRefund, type TimelineEntry } from './move.ts';

/**
 * Flags a refund for another one that the processor has under its name, unless it is flagged for one already.
 * @returns false when the refund has moved meanwhile or is flagged so, and nothing was changed.
 */
export async function flagExtraRefund(
  tx: DatabaseTransaction,
  refund: Refund,
  { reason, extraRefundId }: { reason: string; extraRefundId: string },
  entry: TimelineEntry,
): Promise<boolean> {
  // Who moves it holds one of these, so that its status is what it is when the flag is written.
  await lockPayment(tx, refund);
  await tx.$queryRaw`SELECT 1 FROM refund_work WHERE refund_id = ${refund.id} FOR UPDATE`;
  const flagged = await tx.$executeRaw`
    INSERT INTO refund_work AS w (refund_id, organization_id, environment, processor, flagged_at, flag_reason, extra_refund_id)
    SELECT id, organization_id, environment, processor, service_time(), ${reason}, ${extraRefundId} FROM refund
    WHERE id = ${refund.id} AND status = ${refund.status}::refund_status
    ON CONFLICT (refund_id) DO UPDATE
    SET flagged_at = excluded.flagged_at, flag_reason = excluded.flag_reason, extra_refund_id = excluded.extra_refund_id
    WHERE w.extra_refund_id IS NULL`;
  if (flagged === 0) return false;
  await noteOnRefund(tx, refund, entry);
  return true;
}
