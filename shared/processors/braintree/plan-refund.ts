import { asSubmissionResult, processorFailure } from '../contract/outcome.ts';
import type { ProcessorFailure, RefundSubmission, SubmissionResult } from '../contract/processor.ts';
import { unsettled } from './map-error.ts';
import type { BraintreeTransaction } from './replies.ts';
import { saleStage } from './replies.ts';

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
  switch (saleStage(sale.status)) {
    case 'voided':
      return rejected('already_refunded', 'The payment was voided, which returned its whole amount.');
    case 'unpaid':
      return { kind: 'answer', result: { kind: 'rejected', failure: unpaid(sale) } };
    case 'refund':
      return { kind: 'refund' };
    case 'void': {
      const isWhole = submission.amount === sale.amountMinor && (sale.refundIds ?? []).length === 0;
      if (isWhole) return { kind: 'void' };
      if (submission.amount > sale.amountMinor) {
        return rejected('amount_too_large', 'The refund is larger than the payment.');
      }
      return { kind: 'answer', result: asSubmissionResult(unsettled()) };
    }
  }
}

/** Why a sale that was never paid cannot be refunded. */
export function unpaid({ status }: BraintreeTransaction): ProcessorFailure {
  return processorFailure(status, `The payment is ${status}, so there is nothing to refund.`);
}

function rejected(code: string, message: string): RefundPlan {
  return { kind: 'answer', result: { kind: 'rejected', failure: processorFailure(code, message) } };
}
