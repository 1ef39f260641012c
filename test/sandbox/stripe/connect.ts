import type { Ledger, Payment, Refund } from '../ledger.ts';
import { invalidParameter, refused } from './answers.ts';
import { capturedAmount } from './objects.ts';
import type { StripeRequest } from './processor.ts';

// What a refund takes back from connected accounts and gives back to them.

/** What was asked to go back, beside the amount itself. */
export interface Returned {
  transferReversed: number;
  applicationFeeRefunded: number;
}

/** What a refund of an amount would return, which it must not more than is left. @throws Refusal for what the payment does not have. */
export function returnedWith({ ledger, form }: StripeRequest, payment: Payment, amount: number): Returned {
  const [reverses, refundsFee] = [isAsked(form, 'reverse_transfer'), isAsked(form, 'refund_application_fee')];
  const { id, transferTo, applicationFee } = payment;
  if (reverses && transferTo === undefined) {
    const message = `Cannot reverse transfer on charge ${id} because it does not have an associated transfer.`;
    throw refused({ message, param: 'reverse_transfer' });
  }
  if (refundsFee && applicationFee === undefined) {
    const message = `Attempting to refund_application_fee on ${id}, but it has no application fee`;
    throw refused({ message, param: 'refund_application_fee' });
  }
  if (refundsFee && transferTo !== undefined && !reverses) {
    const message = `The application fee of charge ${id} goes back only if its transfer is reversed as well.`;
    throw refused({ message, param: 'refund_application_fee' });
  }
  const captured = capturedAmount(payment);
  const share = { amount, captured, isRest: ledger.refundedAmount(payment) + amount === captured };
  const earlier = ledger.refundsOf(payment);
  return {
    transferReversed: reverses ? shareOf(captured, sumOf(earlier, 'transferReversed'), share) : 0,
    applicationFeeRefunded: refundsFee
      ? shareOf(applicationFee ?? 0, sumOf(earlier, 'applicationFeeRefunded'), share)
      : 0,
  };
}

/** Parameters are words: `true` and `false`. */
function isAsked(form: URLSearchParams, name: string): boolean {
  const given = form.get(name) ?? 'false';
  if (given !== 'true' && given !== 'false') throw invalidParameter(name, `Invalid boolean: ${given}`);
  return given === 'true';
}

/** In proportion to the refund, rounded; all that is left once the whole charge is refunded. */
function shareOf(
  whole: number,
  earlier: number,
  { amount, captured, isRest }: { amount: number; captured: number; isRest: boolean },
): number {
  const left = whole - earlier;
  return isRest ? left : Math.min(left, Math.round((whole * amount) / captured));
}

function sumOf(refunds: readonly Refund[], field: keyof Returned): number {
  return refunds.reduce((sum, refund) => sum + (refund[field] ?? 0), 0);
}

/**
 * Moves what a refund returns between the platform and the account that had the transfer, or the account of a direct charge.
 * @throws Refusal when the account of the transfer does not have as much: Stripe makes no refund that waits then.
 */
export function moveReturned(ledger: Ledger, payment: Payment, returned: Returned): void {
  const { transferTo, connectedAccount } = payment;
  const { transferReversed, applicationFeeRefunded } = returned;
  if (transferTo !== undefined && !ledger.takeBalance(payment, transferTo, transferReversed)) {
    const message = `The balance of the account ${transferTo} does not cover the reversal of its transfer.`;
    throw refused({ code: 'balance_insufficient', message });
  }
  const owner = transferTo ?? connectedAccount;
  if (owner !== undefined) ledger.takeBalance(payment, owner, -applicationFeeRefunded);
}
