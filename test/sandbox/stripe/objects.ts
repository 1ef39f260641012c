import type { Ledger, Payment, Refund } from '../ledger.ts';
import { toStripeUnits } from './amounts.ts';

function paymentIntentId({ id }: Payment): string {
  return `pi_${id.slice(3)}`;
}

/** The part of a payment that was collected and can be refunded. */
export function capturedAmount({ status, amount, capturedAmount: captured }: Payment): number {
  if (status === 'failed') return 0;
  return captured ?? (status === 'uncaptured' ? 0 : amount);
}

const inSeconds = (milliseconds: number) => Math.floor(milliseconds / 1000);

export function chargeObject(ledger: Ledger, payment: Payment) {
  const amount = toStripeUnits(payment.amount, payment.currency);
  const refunded = toStripeUnits(ledger.refundedAmount(payment), payment.currency);
  const collected = toStripeUnits(capturedAmount(payment), payment.currency);
  const captured = payment.status === 'succeeded' || payment.status === 'disputed';
  return {
    id: payment.id,
    object: 'charge',
    amount,
    amount_captured: collected,
    amount_refunded: refunded,
    captured,
    created: inSeconds(payment.createdAt),
    currency: payment.currency,
    customer: null,
    disputed: payment.status === 'disputed',
    failure_code: payment.status === 'failed' ? 'card_declined' : null,
    livemode: payment.environment === 'live',
    metadata: {},
    paid: payment.status !== 'failed',
    payment_intent: paymentIntentId(payment),
    payment_method_details: paymentMethodDetails(payment),
    refunded: captured && refunded >= collected,
    status: payment.status === 'failed' ? 'failed' : 'succeeded',
  };
}

/** A chargeback that waits for an answer. */
export function disputeObject(payment: Payment) {
  return {
    id: `dp_${payment.id.slice(3)}`,
    object: 'dispute',
    amount: toStripeUnits(payment.amount, payment.currency),
    charge: payment.id,
    created: inSeconds(payment.createdAt),
    currency: payment.currency,
    is_charge_refundable: false,
    livemode: payment.environment === 'live',
    payment_intent: paymentIntentId(payment),
    reason: 'general',
    status: 'needs_response',
  };
}

function paymentMethodDetails(payment: Payment) {
  if (payment.paymentMethod === 'customer_balance') return { type: 'customer_balance', customer_balance: {} };
  return { type: 'card', card: { brand: 'visa', last4: '4242' } };
}

export function paymentIntentObject(ledger: Ledger, payment: Payment, expandCharge: boolean) {
  const charge = chargeObject(ledger, payment);
  const status = { failed: 'requires_payment_method', uncaptured: 'requires_capture' }[payment.status];
  return {
    id: paymentIntentId(payment),
    object: 'payment_intent',
    amount: charge.amount,
    amount_capturable: payment.status === 'uncaptured' ? charge.amount - charge.amount_captured : 0,
    amount_received: charge.amount_captured,
    created: charge.created,
    currency: charge.currency,
    latest_charge: expandCharge ? charge : charge.id,
    livemode: charge.livemode,
    metadata: {},
    payment_method_types: [payment.paymentMethod],
    status: status ?? 'succeeded',
  };
}

function destinationOf(reference: string) {
  const known = { reference, reference_status: 'available', reference_type: 'acquirer_reference_number' };
  return { type: 'card', card: { ...known, type: 'refund' } };
}

export function refundObject(refund: Refund) {
  return {
    id: refund.id,
    object: 'refund',
    amount: toStripeUnits(refund.amount, refund.currency),
    balance_transaction: refund.status === 'requires_action' ? null : `txn_${refund.id.slice(3)}`,
    charge: refund.paymentId,
    created: inSeconds(refund.createdAt),
    currency: refund.currency,
    ...(refund.bankReference === undefined
      ? {}
      : { destination_details: destinationOf(refund.bankReference) }),
    ...(refund.failureReason === null ? {} : { failure_reason: refund.failureReason }),
    metadata: refund.metadata,
    payment_intent: `pi_${refund.paymentId.slice(3)}`,
    ...(refund.status === 'pending' ? { pending_reason: 'processing' } : {}),
    reason: refund.reason,
    receipt_number: null,
    source_transfer_reversal: null,
    status: refund.status,
    transfer_reversal: null,
  };
}
