import type Stripe from 'stripe';
import type { Ledger, Payment, Refund } from '../ledger.ts';
import { toStripeUnits } from './amounts.ts';

// Each object is complete, as the types of Stripe's SDK have it.

export function paymentIntentId({ id }: Pick<Payment, 'id'>): string {
  return `pi_${id.slice(3)}`;
}

/** The part of a payment that was collected and can be refunded. */
export function capturedAmount({ status, amount, capturedAmount: captured }: Payment): number {
  if (status === 'failed') return 0;
  return captured ?? (status === 'uncaptured' ? 0 : amount);
}

/** The state of the payment's dispute; null when it was never disputed. */
export function disputeStatus({ disputeStatus: stored, status }: Payment): string | null {
  return stored ?? (status === 'disputed' ? 'needs_response' : null);
}

export const inSeconds = (milliseconds: number) => Math.floor(milliseconds / 1000);

const noBillingDetails = {
  address: { city: null, country: null, line1: null, line2: null, postal_code: null, state: null },
  ...{ email: null, name: null, phone: null, tax_id: null },
} satisfies Stripe.Charge.BillingDetails;

/** Written out, because objects of this size are slow to put together from others. */
export function chargeObject(ledger: Ledger, payment: Payment) {
  const amount = toStripeUnits(payment.amount, payment.currency);
  const refunded = toStripeUnits(ledger.refundedAmount(payment), payment.currency);
  const collected = toStripeUnits(capturedAmount(payment), payment.currency);
  const { status, transferTo, applicationFee } = payment;
  const isFailed = status === 'failed';
  const isCaptured = !isFailed && status !== 'uncaptured';
  return {
    id: payment.id,
    object: 'charge',
    amount,
    amount_captured: collected,
    amount_refunded: refunded,
    application: application(payment),
    application_fee: applicationFee !== undefined && isCaptured ? `fee_${payment.id.slice(3)}` : null,
    application_fee_amount:
      applicationFee === undefined ? null : toStripeUnits(applicationFee, payment.currency),
    balance_transaction: isCaptured && status !== 'pending' ? `txn_${payment.id.slice(3)}` : null,
    billing_details: noBillingDetails,
    calculated_statement_descriptor: 'SANDBOX',
    captured: isCaptured,
    created: inSeconds(payment.createdAt),
    currency: payment.currency,
    customer: null,
    description: null,
    disputed: disputeStatus(payment) !== null,
    failure_balance_transaction: null,
    failure_code: isFailed ? 'card_declined' : null,
    failure_message: isFailed ? 'Your card was declined.' : null,
    fraud_details: {},
    livemode: payment.environment === 'live',
    metadata: {},
    on_behalf_of: null,
    outcome: isFailed ? declined : authorized,
    paid: !isFailed && status !== 'pending',
    payment_intent: paymentIntentId(payment),
    payment_method: `pm_${payment.id.slice(3)}`,
    payment_method_details: paymentMethodDetails(payment),
    radar_options: {},
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: isCaptured && refunded >= collected,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: isFailed ? 'failed' : status === 'pending' ? 'pending' : 'succeeded',
    ...(transferTo !== undefined && isCaptured ? { transfer: `tr_${payment.id.slice(3)}` } : {}),
    ...transferData(payment),
  } satisfies Stripe.Charge;
}

/** Of the platform, where it has made the payment for the account. */
function application({ connectedAccount }: Payment): string | null {
  return connectedAccount === undefined ? null : 'ca_sandbox';
}

function transferData({ id, transferTo: destination }: Payment) {
  if (destination === undefined) return { transfer_data: null, transfer_group: null };
  return { transfer_data: { amount: null, destination }, transfer_group: `group_${paymentIntentId({ id })}` };
}

const authorized = {
  ...{ advice_code: null, network_advice_code: null, network_decline_code: null, reason: null },
  ...{ network_status: 'approved_by_network', risk_level: 'normal', risk_score: 20 },
  ...{ seller_message: 'Payment complete.', type: 'authorized' },
} satisfies Stripe.Charge.Outcome;

const declined = {
  ...{ advice_code: null, network_advice_code: null, network_decline_code: '05', reason: 'generic_decline' },
  ...{ network_status: 'declined_by_network', risk_level: 'normal', risk_score: 20 },
  ...{ seller_message: 'The bank did not return any further details.', type: 'issuer_declined' },
} satisfies Stripe.Charge.Outcome;

function paymentMethodDetails(payment: Payment): Stripe.Charge.PaymentMethodDetails {
  const { paymentMethod: type } = payment;
  if (type === 'customer_balance') return { type, customer_balance: {} };
  if (type === 'us_bank_account') return { type, us_bank_account: bankDetails };
  return { type: 'card', card: cardDetails(payment) };
}

const bankDetails = {
  ...{ account_holder_type: 'individual', account_type: 'checking', bank_name: 'STRIPE TEST BANK' },
  ...{ fingerprint: 'Xt5EWLLDS7FJjR1c', last4: '6789', payment_reference: null, routing_number: '110000000' },
} satisfies Stripe.Charge.PaymentMethodDetails.UsBankAccount;

const checks = { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' };
const unavailable = { status: 'unavailable' };

function cardDetails({ card = '4242424242424242', amount, currency, id }: Payment) {
  const authorized = toStripeUnits(amount, currency);
  return {
    amount_authorized: authorized,
    authorization_code: null,
    brand: 'visa',
    checks,
    country: 'US',
    electronic_commerce_indicator: null,
    exp_month: 12,
    exp_year: 2034,
    extended_authorization: { status: 'disabled' },
    fingerprint: 'Xt5EWLLDS7FJjR1c',
    funding: 'credit',
    incremental_authorization: unavailable,
    installments: null,
    last4: card.slice(-4),
    mandate: null,
    multicapture: unavailable,
    network: 'visa',
    network_token: { used: false },
    network_transaction_id: id.slice(3),
    overcapture: { maximum_amount_capturable: authorized, status: 'unavailable' },
    regulated_status: 'unregulated',
    three_d_secure: null,
    transaction_link_id: null,
    wallet: null,
  } satisfies Stripe.Charge.PaymentMethodDetails.Card;
}

const usualIntent = {
  ...{ allowed_payment_method_types: null, excluded_payment_method_types: null, managed_payments: null },
  ...{ amount_details: { tip: {} }, on_behalf_of: null },
  ...{ automatic_payment_methods: null, canceled_at: null, cancellation_reason: null, payment_record: null },
  ...{ customer: null, customer_account: null, description: null, metadata: {}, next_action: null },
  ...{ payment_method_configuration_details: null, processing: null, receipt_email: null, review: null },
  ...{ setup_future_usage: null, shipping: null, source: null, statement_descriptor: null },
  statement_descriptor_suffix: null,
} satisfies Partial<Stripe.PaymentIntent>;

const methodOptions: Readonly<Record<string, Stripe.PaymentIntent.PaymentMethodOptions>> = {
  card: {
    card: { installments: null, mandate_options: null, network: null, request_three_d_secure: 'automatic' },
  },
  customer_balance: { customer_balance: { funding_type: 'bank_transfer' } },
  us_bank_account: { us_bank_account: {} },
};

export function paymentIntentObject(ledger: Ledger, payment: Payment, expandCharge: boolean) {
  const charge = chargeObject(ledger, payment);
  const { failure_message: message } = charge;
  const isUncaptured = payment.status === 'uncaptured';
  const statuses: Readonly<Record<string, Stripe.PaymentIntent.Status>> = {
    failed: 'requires_payment_method',
    uncaptured: 'requires_capture',
    pending: 'processing',
  };
  return {
    ...usualIntent,
    id: charge.payment_intent,
    object: 'payment_intent',
    amount: charge.amount,
    amount_capturable: isUncaptured ? charge.amount - charge.amount_captured : 0,
    amount_received: charge.amount_captured,
    application: charge.application,
    application_fee_amount: charge.application_fee_amount,
    capture_method: isUncaptured ? 'manual' : 'automatic',
    client_secret: `${charge.payment_intent}_secret_sandbox`,
    confirmation_method: 'automatic',
    created: charge.created,
    currency: charge.currency,
    last_payment_error:
      message === null ? null : { type: 'card_error', code: 'card_declined', charge: charge.id, message },
    latest_charge: expandCharge ? charge : charge.id,
    livemode: charge.livemode,
    payment_method: charge.payment_method,
    payment_method_options: methodOptions[payment.paymentMethod] ?? null,
    payment_method_types: [payment.paymentMethod],
    status: statuses[payment.status] ?? 'succeeded',
    ...intentTransferData(payment),
  } satisfies Stripe.PaymentIntent;
}

/** As a charge has it, without an amount where all of it is transferred. */
function intentTransferData({ id, transferTo: destination }: Payment) {
  if (destination === undefined) return { transfer_data: null, transfer_group: null };
  return { transfer_data: { destination }, transfer_group: `group_${paymentIntentId({ id })}` };
}

const DAY_SECONDS = 86_400;
/** How long the customer has to give a bank account. */
const ACTION_DAYS = 45;

export function refundObject(ledger: Ledger, refund: Refund) {
  const payment = ledger.knownPayment(refund, refund.paymentId);
  const created = inSeconds(refund.createdAt);
  const { instructionsEmail } = refund;
  return {
    id: refund.id,
    object: 'refund',
    amount: toStripeUnits(refund.amount, refund.currency),
    balance_transaction: refund.status === 'requires_action' ? null : `txn_${refund.id.slice(3)}`,
    charge: refund.paymentId,
    created,
    currency: refund.currency,
    customer: null,
    customer_account: null,
    destination_details: destinationOf(refund, payment?.paymentMethod),
    ...(refund.failureReason === null
      ? {}
      : { failure_balance_transaction: `txn_f${refund.id.slice(3)}`, failure_reason: refund.failureReason }),
    ...(instructionsEmail === undefined ? {} : { instructions_email: instructionsEmail }),
    metadata: refund.metadata,
    ...(refund.status === 'requires_action' ? { next_action: nextAction(created, instructionsEmail) } : {}),
    payment_intent: paymentIntentId({ id: refund.paymentId }),
    payment_method: `pm_${refund.paymentId.slice(3)}`,
    ...(refund.status === 'pending' ? { pending_reason: PENDING_REASONS[refund.heldBy ?? 'nothing'] } : {}),
    reason: refund.reason,
    receipt_number: null,
    source_transfer_reversal: null,
    status: refund.status,
    transfer_reversal: (refund.transferReversed ?? 0) > 0 ? `trr_${refund.id.slice(3)}` : null,
  } satisfies Stripe.Refund;
}

const PENDING_REASONS = {
  payment: 'charge_pending',
  balance: 'insufficient_funds',
  nothing: 'processing',
} satisfies Record<string, Stripe.Refund.PendingReason>;

/** Stripe asks the customer by e-mail for the bank account. */
function nextAction(created: number, email = 'customer@example.com') {
  return {
    type: 'display_details',
    display_details: {
      email_sent: { email_sent_at: created, email_sent_to: email },
      expires_at: created + ACTION_DAYS * DAY_SECONDS,
    },
  } satisfies Stripe.Refund.NextAction;
}

/** The banks know a reversal by another number. */
const REFERENCE_TYPES: Readonly<Record<string, string>> = { reversal: 'system_trace_audit_number' };

function destinationOf({ bankReference: reference, destinationType = 'refund' }: Refund, method = 'card') {
  const status = reference === undefined ? 'pending' : 'available';
  if (method !== 'card') {
    const transfer = { reference: reference ?? null, reference_status: status };
    return {
      type: 'us_bank_transfer',
      us_bank_transfer: transfer,
    } satisfies Stripe.Refund.DestinationDetails;
  }
  const card = {
    ...(reference === undefined ? {} : { reference }),
    reference_status: status,
    reference_type: REFERENCE_TYPES[destinationType] ?? 'acquirer_reference_number',
    type: destinationType,
  };
  return { type: 'card', card } satisfies Stripe.Refund.DestinationDetails;
}
