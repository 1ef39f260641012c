import { newId } from '../../../shared/platform/ids.ts';
import type { RefundReference, RefundSubmission } from '../../../shared/processors/contract/processor.ts';

/** What a processor is asked for a new refund of 15.00 USD, unless changed. */
export function submissionFor(
  transactionId: string,
  changes: Partial<RefundSubmission> = {},
): RefundSubmission {
  const refundId = newId('ref');
  return {
    refundId,
    transactionId,
    amount: 1_500n,
    currency: 'usd',
    reason: 'customer_request',
    idempotencyKey: `${refundId}-0`,
    ...changes,
  };
}

export function referenceOf({
  refundId,
  transactionId,
  amount,
  currency,
}: RefundSubmission): RefundReference {
  return { refundId, transactionId, amount, currency };
}
