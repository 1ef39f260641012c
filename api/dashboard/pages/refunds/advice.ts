import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';

const byFailureCode: Readonly<Record<string, string>> = {
  already_refunded: 'The payment has already been refunded in full. There is nothing to do.',
  amount_too_large: 'Create another refund of the remaining amount or less.',
  currency_mismatch: 'Create another refund in the currency of the payment.',
  transaction_not_found:
    'Check the transaction ID and that the payment was made in this environment, then create another refund.',
  processor_unavailable: 'It was never sent. Create it again once the processor works.',
  reversed: 'The money came back. Pay the customer in another way.',
  expired_or_canceled_card: 'The card is gone. Pay the customer in another way.',
  lost_or_stolen_card: 'The card is gone. Pay the customer in another way.',
  insufficient_funds: 'Add funds to the processor account, then create the refund again.',
  charge_for_pending_refund_disputed:
    'The customer disputes the payment. Settle the dispute; do not refund it as well.',
  resolved_by_person: 'A person resolved it as failed. See the timeline.',
};

/**
 * What to do about a failed refund.
 * @param isUncertain true when the refund may have moved money all the same.
 */
export function failureAdvice(
  { failureCode }: Pick<RefundWithWork, 'failureCode'>,
  isUncertain: boolean,
): string {
  if (isUncertain) return 'The customer may have the money. Do not refund it again before you are sure.';
  return (
    byFailureCode[failureCode ?? ''] ??
    'The customer did not get this money. Fix the cause, then create another refund.'
  );
}
