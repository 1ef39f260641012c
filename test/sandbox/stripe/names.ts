import type Stripe from 'stripe';
import type { Payment } from '../ledger.ts';
import { toStripeUnits } from './amounts.ts';
import { invalidParameter, noSuch } from './answers.ts';
import { capturedAmount, inSeconds, paymentIntentId } from './objects.ts';
import type { StripeRequest } from './processor.ts';

// Checkout sessions and the payments of invoices: what else payments are known by.

const DAY_SECONDS = 86_400;

/** A session of a subscription has an invoice in place of a payment intent. */
export function retrieveSession({ ledger, scope, id }: StripeRequest) {
  const payment = ledger.payments(scope).find(({ checkoutSession }) => checkoutSession === id);
  if (payment === undefined) throw noSuch('checkout.session', id);
  return sessionObject(id, payment);
}

/** Those of one invoice. */
export function listInvoicePayments({ ledger, scope, form }: StripeRequest) {
  const id = form.get('invoice');
  if (id === null) throw invalidParameter('invoice', 'The sandbox lists the payments of one invoice.');
  const payments = ledger.payments(scope).filter(({ invoice }) => invoice === id);
  if (payments.length === 0) throw noSuch('invoice', id);
  const status = form.get('status');
  const all = payments.map((payment) => invoicePaymentObject(id, payment));
  return {
    object: 'list',
    url: '/v1/invoice_payments',
    has_more: false,
    data: all.filter((each) => status === null || each.status === status),
  } satisfies Stripe.ApiList<Stripe.InvoicePayment>;
}

function invoicePaymentObject(invoice: string, payment: Payment) {
  const { amount, currency, createdAt, environment, id } = payment;
  const paid = capturedAmount(payment);
  const isPaid = paid > 0;
  return {
    id: `inpay_${id.slice(3)}`,
    object: 'invoice_payment',
    amount_paid: isPaid ? toStripeUnits(paid, currency) : null,
    amount_requested: toStripeUnits(amount, currency),
    created: inSeconds(createdAt),
    currency,
    invoice,
    is_default: true,
    livemode: environment === 'live',
    payment: { type: 'payment_intent', payment_intent: paymentIntentId(payment) },
    status: isPaid ? 'paid' : 'open',
    status_transitions: { canceled_at: null, paid_at: isPaid ? inSeconds(createdAt) : null },
  } satisfies Stripe.InvoicePayment;
}

const usualSession = {
  ...{ adaptive_pricing: { enabled: false }, after_expiration: null, allow_promotion_codes: null },
  ...{ allowed_payment_method_types: null, billing_address_collection: null, cancel_url: null },
  automatic_tax: { enabled: false, liability: null, provider: null, status: null },
  ...{ client_reference_id: null, client_secret: null, collected_information: null, consent: null },
  ...{ consent_collection: null, currency_conversion: null, custom_fields: [], customer: null },
  custom_text: {
    after_submit: null,
    shipping_address: null,
    submit: null,
    terms_of_service_acceptance: null,
  },
  ...{ customer_account: null, customer_creation: null, customer_details: null, customer_email: null },
  ...{ discounts: null, integration_identifier: null, invoice_creation: null, locale: null },
  ...{ managed_payments: null, metadata: {}, origin_context: null, payment_link: null, permissions: null },
  ...{ payment_method_collection: null, payment_method_configuration_details: null, recovered_from: null },
  ...{ payment_method_options: null, saved_payment_method_options: null, setup_intent: null },
  ...{ shipping_address_collection: null, shipping_cost: null, shipping_options: [], submit_type: null },
  ...{ success_url: 'https://example.com/success', total_details: null, ui_mode: null, url: null },
  wallet_options: null,
} satisfies Partial<Stripe.Checkout.Session>;

function sessionObject(id: string, payment: Payment) {
  const { invoice = null, currency, createdAt, environment, paymentMethod } = payment;
  const amount = toStripeUnits(payment.amount, currency);
  const isPaid = capturedAmount(payment) > 0;
  const created = inSeconds(createdAt);
  return {
    ...usualSession,
    id,
    object: 'checkout.session',
    amount_subtotal: amount,
    amount_total: amount,
    created,
    currency,
    expires_at: created + DAY_SECONDS,
    invoice,
    livemode: environment === 'live',
    mode: invoice === null ? 'payment' : 'subscription',
    payment_intent: invoice === null ? paymentIntentId(payment) : null,
    payment_method_types: [paymentMethod],
    payment_status: isPaid ? 'paid' : 'unpaid',
    status: isPaid ? 'complete' : 'open',
    subscription: invoice === null ? null : `sub_${payment.id.slice(3)}`,
  } satisfies Stripe.Checkout.Session;
}
