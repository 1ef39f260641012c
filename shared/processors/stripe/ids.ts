import { isClientSecret } from '../contract/client-secret.ts';

const paymentId = /^(ch|py|pi)_[A-Za-z0-9_]{1,250}$/;
const refundId = /^(re|pyr)_[A-Za-z0-9_]{1,250}$/;

/** Charges, payments by other methods than cards, and payment intents; nobody else's ids look like these. */
export function isPaymentId(id: string): boolean {
  return paymentId.test(id) && !isClientSecret(id);
}

/** Refunds; only such an id is put into a path. */
export function isRefundId(id: string): boolean {
  return refundId.test(id);
}

/** Names a payment in a request about its refunds. */
export function paymentParameter(id: string): { payment_intent: string } | { charge: string } {
  return id.startsWith('pi_') ? { payment_intent: id } : { charge: id };
}
