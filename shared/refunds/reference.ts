import type { Refund } from '../db.ts';
import type { RefundReference } from '../processors/processor.ts';

/** Names a refund for its processor. */
export function referenceTo({ id, transactionId, amount, currency }: Refund): RefundReference {
  return { refundId: id, transactionId, amount, currency };
}
