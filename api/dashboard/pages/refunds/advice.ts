import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';

const byFailureCode: Readonly<Record<string, string>> = {
  already_refunded: 'The payment has already been refunded in full. There is nothing to do.',
  amount_too_large: 'Create another refund of the remaining amount or less.',
  currency_mismatch: 'Create another refund in the currency of the payment.',
  transaction_not_found:
    'Check the transaction ID and that the payment was made in this environment, then create another refund.',
  processor_unavailable: 'It was never sent. Create another refund once the processor is available.',
  reversed: 'The refund was reversed. Pay the customer another way.',
  expired_or_canceled_card: 'The card has expired or was cancelled. Pay the customer another way.',
  lost_or_stolen_card: 'The card was reported lost or stolen. Pay the customer another way.',
  insufficient_funds: 'Add funds to the processor account, then create another refund.',
  charge_for_pending_refund_disputed:
    'The customer disputed the payment. Respond to the dispute instead of refunding.',
  resolved_by_person: 'Resolved as failed by an operator. See the timeline.',
};

/**
 * What to do about a failed refund.
 * @param isUncertain true when the refund may have moved money anyway.
 */
export function failureAdvice(
  { failureCode }: Pick<RefundWithWork, 'failureCode'>,
  isUncertain: boolean,
): string {
  if (isUncertain)
    return 'The customer may have received the money. Do not refund it again before you check with the processor.';
  return (
    byFailureCode[failureCode ?? ''] ??
    'The customer did not get this money. Fix the cause, then create another refund.'
  );
}
