import type { Refund } from '../../platform/database.ts';
import type { RefundReference } from '../../processors/contract/processor.ts';

/** Names a refund for its processor. */
export function referenceTo({ id, transactionId, amount, currency }: Refund): RefundReference {
  return { refundId: id, transactionId, amount, currency };
}
