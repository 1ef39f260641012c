import { isFlaggedForExtra, type RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../../shared/refunds/model/states.ts';

const byFailureCode: Readonly<Record<string, string>> = {
  already_refunded: 'The payment has been refunded in full already. Nothing is left to do.',
  amount_too_large: 'Create another refund of what is left, or of less.',
  currency_mismatch: 'Create another refund in the currency of the payment.',
  transaction_not_found:
    'Check the id of the transaction, and that the payment was made in this environment; then create another refund.',
  processor_unavailable: 'It was never sent. Create it again once the processor works again.',
  reversed: 'The money came back. Ask the customer for another way to be paid.',
  expired_or_canceled_card: 'The card is gone. Ask the customer for another way to be paid.',
  lost_or_stolen_card: 'The card is gone. Ask the customer for another way to be paid.',
  insufficient_funds: "Put money into the processor's account, then create the refund again.",
  charge_for_pending_refund_disputed:
    'The customer disputes the payment. Settle the dispute at the processor; do not refund it as well.',
  resolved_by_person: 'A person decided this; the timeline says who and why.',
};

/**
 * What to do about a refund that has failed.
 * @param isDoubted true when the processor has told otherwise, whether a person has dealt with that or not.
 */
export function failureAdvice(
  { failureCode }: Pick<RefundWithWork, 'failureCode'>,
  isDoubted: boolean,
): string {
  if (isDoubted) {
    return 'The processor has told otherwise since: do not refund it again before it is certain that the customer has no money.';
  }
  const advice = byFailureCode[failureCode ?? ''];
  return (
    advice ??
    'The customer did not get this money. Mend what the processor names, then create another refund.'
  );
}

/** What to do about a refund that is flagged. */
export function flagAdvice(refund: RefundWithWork): string {
  if (isFlaggedForExtra(refund.work)) {
    return (
      'Find out at the processor who made the other refund, and whether the customer has the money twice. Then ' +
      `${refund.status === 'pending' ? 'reject this one, or ' : ''}let it stand as it is.`
    );
  }
  if (isTerminal(refund.status)) {
    return 'Look at it at the processor. Check again once that is mended there; else let it stand as it is.';
  }
  return (
    'If the account is refused, set new credentials in the settings; it then goes on by itself. Otherwise look at it at ' +
    'the processor, check again, or decide how it ended.'
  );
}
