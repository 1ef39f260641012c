import type { Refund, RefundWork } from '../../platform/database.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import { fromRow, refundFrom, workFrom } from '../model/rows.ts';
import type { RefundDependencies } from './dependencies.ts';

/**
 * What a worker does next for a refund; prisma/functions/refunds/next_refund_step.sql decides it.
 * - `verify`: the payment is not known yet: read it.
 * - `send`: not at the processor: submit the refund.
 * - `look_up`: may be at the processor: look it up first.
 * - `settle`: at the processor: read whether it has settled.
 * - `cancel_at_processor`: at the processor, cancellation requested.
 * - `cancel`: not at the processor, cancellation requested.
 * - `review`: ended here: read whether the processor agrees.
 */
export type RefundStep =
  | 'verify'
  | 'send'
  | 'look_up'
  | 'settle'
  | 'cancel_at_processor'
  | 'cancel'
  | 'review';

/** A refund under a worker's lease, and everything that its next step needs. */
export interface Claim {
  step: RefundStep;
  /** When it was claimed, in the database's time. */
  now: Date;
  refund: Refund;
  /** Under the new lease; for the step `send`, with the attempt that is about to be made. */
  work: RefundWork;
  account: AccountName;
}

/**
 * Claims a refund for one call to its processor. A claim to send has counted the attempt before it returns.
 * @returns null when the refund is not due, another worker holds it, or its account is throttled.
 */
export async function claimRefund(
  { statements }: Pick<RefundDependencies, 'statements'>,
  refundId: string,
): Promise<Claim | null> {
  const row = await statements.claim({ refundId });
  if (row === null) return null;
  return {
    step: row.step as RefundStep,
    now: new Date(row.now),
    refund: refundFrom(row.refund),
    work: workFrom(row.work),
    account: fromRow<AccountName>(row.account),
  };
}
