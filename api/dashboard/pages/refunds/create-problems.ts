import { formatAmount } from '../../../../shared/money/money.ts';
import { remainingOf } from '../../../../shared/payments/payment.ts';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import { processorKind } from '../../../../shared/processors/registry.ts';
import type { PaymentExamination } from '../../../../shared/refunds/lifecycle/check-policy.ts';
import { type FormProblems, problemsOf } from '../../http/forms.ts';
import { entryFields, type RefundEntry } from './create-entry.ts';

/** What the payment has against the refund, for the form; null when nothing. */
export function paymentProblems(
  entry: RefundEntry,
  { payment, unrefundable }: Pick<PaymentExamination, 'payment' | 'unrefundable'>,
): FormProblems | null {
  if (unrefundable !== null) return { transactionId: unrefundable.message };
  if (payment === null) {
    return {
      transactionId:
        'No processor account of this environment knows this payment. Check the id, and whether it was made in test or live.',
    };
  }
  const { currency, processor } = payment;
  if (entry.currency !== currency) {
    return { currency: `The payment was made in ${currency.toUpperCase()}; choose that.` };
  }
  const left = remainingOf(payment) ?? 0n;
  if (left <= 0n)
    return { form: 'The payment has been refunded in full already, or its refunds are on their way.' };
  if (entry.amount > left)
    return { amount: `At most ${formatAmount(left, currency)} can still be refunded.` };
  const problem = processorKind(processor).amountProblem(entry.amount, currency);
  return problem === null ? null : { amount: `${problem.charAt(0).toUpperCase()}${problem.slice(1)}` };
}

const words: Partial<Record<ServiceError['code'], string>> = {
  idempotency_key_reused:
    'This form was sent before with other values, and that has made a refund or was refused. Nothing was changed now. Look at the list of refunds before you send it again.',
};

/**
 * A refusal of the service, for the form.
 * @throws the error again when it is nothing that another entry, or another try, could mend.
 */
export function refusalProblems(error: unknown): FormProblems {
  if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
  const message = words[error.code];
  if (message !== undefined) return { form: message };
  // A processor that refuses or cannot be asked is no fault of this service.
  return error.status >= 500 ? { form: error.message } : problemsOf(error, entryFields);
}

const bindingCodes = new Set<ServiceError['code']>([
  'policy_denied',
  'refund_already_processed',
  'processor_error',
  'idempotency_key_reused',
]);

/** True when the refusal is the last word about the form that was sent, so that what is mended is another form. */
export function isLastWord(error: unknown): boolean {
  return error instanceof ServiceError && bindingCodes.has(error.code);
}
