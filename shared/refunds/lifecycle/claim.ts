import type { Refund, RefundAttempt, RefundWork } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import { leaseMs } from '../model/lookup-proof.ts';
import { attemptFrom, fromRow, refundFrom, workFrom } from '../model/rows.ts';
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
  /** Under the new lease. */
  work: RefundWork;
  /** The last one; for the step `send`, the one that is about to be made. */
  attempt: RefundAttempt | null;
  account: AccountName;
}

/**
 * Claims a refund for one call to its processor. A claim to send has recorded the attempt before it returns.
 * @returns null when the refund is not due, another worker holds it, or its account is throttled.
 */
export async function claimRefund(
  { statements }: Pick<RefundDependencies, 'statements'>,
  refundId: string,
): Promise<Claim | null> {
  const row = await statements.claim({ refund_id: refundId, event_id: newId('evt') });
  if (row === null) return null;
  return {
    step: row.step as RefundStep,
    now: new Date(row.now),
    refund: refundFrom(row.refund),
    work: workFrom(row.work),
    attempt: row.attempt?.refund_id == null ? null : attemptFrom(row.attempt),
    account: fromRow<AccountName>(row.account),
  };
}

/**
 * Extends the lease for another call.
 * @returns false when it was lost.
 */
export async function renewLease(
  { db, settings }: Pick<RefundDependencies, 'db' | 'settings'>,
  { work }: Pick<Claim, 'work'>,
): Promise<boolean> {
  const renewed = await db.$executeRaw`
    UPDATE refund_work SET leased_until = service_time() + ${leaseMs(settings)} * interval '1 millisecond'
    WHERE refund_id = ${work.refundId} AND lease_token = ${work.leaseToken}`;
  return renewed === 1;
}
