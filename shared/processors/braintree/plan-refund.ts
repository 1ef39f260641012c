import { asSubmissionResult, processorFailure } from '../contract/outcome.ts';
import type { ProcessorFailure, RefundSubmission, SubmissionResult } from '../contract/processor.ts';
import { unsettled } from './map-error.ts';
import { type BraintreeTransaction, isChargedBack, mapStatus, saleStage } from './replies.ts';

/** How to refund a sale; `answer` when that is not possible, or not yet. */
type RefundPlan = { kind: 'refund' } | { kind: 'void' } | { kind: 'answer'; result: SubmissionResult };

/** Decides by the current state of the sale. One that has not settled can only be voided, in full. */
export function planRefund(submission: RefundSubmission, sale: BraintreeTransaction): RefundPlan {
  if (sale.type !== 'sale') return rejected('not_a_payment', `${sale.id} is not a payment.`);
  // Braintree takes the amount without a currency, so another currency would move another sum.
  if (sale.currencyIsoCode !== submission.currency) {
    return rejected(
      'currency_mismatch',
      `The payment is in ${sale.currencyIsoCode.toUpperCase()}, not in ${submission.currency.toUpperCase()}.`,
    );
  }
  const failure = unrefundable(sale);
  if (failure !== null) return { kind: 'answer', result: { kind: 'rejected', failure } };
  switch (saleStage(sale.status)) {
    case 'voided':
      return rejected('already_refunded', 'The payment was voided, which returned its whole amount.');
    case 'void': {
      const isWhole = submission.amount === sale.amountMinor && (sale.refundIds ?? []).length === 0;
      if (isWhole) return { kind: 'void' };
      if (submission.amount > sale.amountMinor) {
        return rejected('amount_too_large', 'The refund is larger than the payment.');
      }
      return { kind: 'answer', result: asSubmissionResult(unsettled()) };
    }
    case 'refund':
      return { kind: 'refund' };
  }
}

/** Why nothing of a sale can be refunded; null otherwise. Braintree itself would refund one that was charged back. */
export function unrefundable(sale: BraintreeTransaction): ProcessorFailure | null {
  const { status, partialSettlementTransactionIds: parts } = sale;
  if (parts != null && parts.length > 0) {
    const message = `The payment was settled in parts. Refund these payments instead: ${parts.join(', ')}.`;
    return processorFailure('settled_in_parts', message);
  }
  // A sale that failed was never paid, in the same statuses as a refund.
  if (mapStatus(status) === 'failed') {
    return processorFailure(status, `The payment is ${status}, so there is nothing to refund.`);
  }
  if (!isChargedBack(sale)) return null;
  const message =
    'The payment was charged back, so a refund would pay the customer twice. See the dispute in Braintree.';
  return processorFailure('charge_disputed', message);
}

function rejected(code: string, message: string): RefundPlan {
  return { kind: 'answer', result: { kind: 'rejected', failure: processorFailure(code, message) } };
}
