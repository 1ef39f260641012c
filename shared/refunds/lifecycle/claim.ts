import type { ServiceSettings } from '../../platform/config.ts';
import type { Refund, RefundAttempt, RefundWork } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { attemptFrom, fromRow, refundFrom, workFrom } from '../../platform/rows.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import { recordingMarginMs } from '../model/lookup-proof.ts';
import type { RefundStep } from '../model/next-step.ts';
import type { RefundDependencies } from './dependencies.ts';

/** A refund under a worker's lease, and everything that its next step needs. */
export interface Claim {
  step: RefundStep;
  /** When it was claimed, in the database's time. */
  now: Date;
  refund: Refund;
  /** Under the new lease. */
  work: RefundWork;
  /** The last one: for a refund that is to be sent, the one that is about to be made. */
  attempt: RefundAttempt | null;
  account: AccountName;
}

/** How long a claimed refund belongs to its worker: longer than any call to a processor can last. */
export function leaseMs({ PROCESSOR_TIMEOUT_MS }: Pick<ServiceSettings, 'PROCESSOR_TIMEOUT_MS'>): number {
  return PROCESSOR_TIMEOUT_MS + recordingMarginMs;
}

/**
 * Claims a refund for one call to its processor. A claim to send has recorded the attempt before it answers.
 * @returns null when the refund is not due, another worker has it, or its account is throttled.
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
