import { toDecimal } from '../ledger/currency.ts';
import type { Payment } from '../ledger/ledger.ts';
import { declinesRefunds, findPayment, scopeOf } from '../ledger/payments.ts';
import { addRefund, randomId, type Sandbox } from '../ledger/state.ts';
import { fromStripeUnits, stripeStep } from './amounts.ts';
import { invalidParameter, noSuch, refundRefused, StripeRefusal } from './errors.ts';
import { capturedAmount, refundObject } from './objects.ts';
import type { Form, StripeRequest } from './request.ts';

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'];
const PARAMETERS = new Set(['charge', 'payment_intent', 'amount', 'reason', 'metadata', 'expand']);

interface RefundParameters {
  /** In Stripe's units; null asks for all that is left. */
  amount: number | null;
  reason: string | null;
  metadata: Record<string, string>;
  target: { param: 'charge' | 'payment_intent'; id: string };
}

export function createRefund(sandbox: Sandbox, request: StripeRequest) {
  const parameters = readParameters(request.form);
  const payment = findTarget(sandbox, request, parameters.target);
  const left = refundableAmount(sandbox, payment);
  const amount = parameters.amount === null ? left : readAmount(parameters.amount, payment.currency);
  if (amount > left) throw tooMuch(amount, left, payment.currency);
  const refund = addRefund(
    sandbox,
    {
      processor: 'stripe',
      environment: payment.environment,
      id: randomId('re_', 24),
      paymentId: payment.id,
      kind: 'refund',
      amount,
      currency: payment.currency,
      status: initialStatus(sandbox, payment),
      reference: parameters.metadata.refund_id ?? '',
      createdAt: sandbox.now(),
      driven: false,
      reason: parameters.reason,
      metadata: parameters.metadata,
      failureReason: null,
    },
    request.cause,
  );
  return refundObject(refund);
}

function initialStatus({ ledger }: Sandbox, { paymentMethod }: Payment): string {
  if (ledger.settings.autoSettleMs === 0) return 'succeeded';
  return paymentMethod === 'customer_balance' ? 'requires_action' : 'pending';
}

function readParameters(form: Form): RefundParameters {
  const unknown = [...Object.keys(form.values), ...Object.keys(form.nested)].find(
    (name) => !PARAMETERS.has(name),
  );
  if (unknown !== undefined) {
    throw invalidParameter(unknown, `Received unknown parameter: ${unknown}`, 'parameter_unknown');
  }
  const { amount, reason } = form.values;
  if (amount !== undefined && !/^[1-9]\d{0,14}$/.test(amount)) {
    throw invalidParameter('amount', `Invalid positive integer: ${amount}`, 'parameter_invalid_integer');
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    throw invalidParameter('reason', `Invalid reason: must be one of ${REASONS.join(', ')}`);
  }
  return {
    amount: amount === undefined ? null : Number(amount),
    reason: reason ?? null,
    metadata: form.nested.metadata ?? {},
    target: readTarget(form),
  };
}

function readTarget(form: Form): RefundParameters['target'] {
  const { charge, payment_intent: paymentIntent } = form.values;
  if (charge && paymentIntent) {
    throw invalidParameter('charge', 'Pass either charge or payment_intent, not both.');
  }
  if (charge) return { param: 'charge', id: charge };
  if (paymentIntent) return { param: 'payment_intent', id: paymentIntent };
  throw invalidParameter('charge', 'One of charge or payment_intent is required.', 'parameter_missing');
}

function findTarget(sandbox: Sandbox, request: StripeRequest, target: RefundParameters['target']): Payment {
  const isIntent = target.param === 'payment_intent';
  const payment =
    target.id.startsWith('pi_') === isIntent
      ? findPayment(sandbox, scopeOf('stripe', request.account.environment), target.id)
      : undefined;
  if (payment === undefined) throw noSuch(target.param, target.id, target.param);
  return payment;
}

/** What is left to refund; throws when the payment cannot be refunded at all. */
function refundableAmount(sandbox: Sandbox, payment: Payment): number {
  const { id } = payment;
  if (payment.status === 'failed') {
    throw refundRefused('charge_not_refundable', `Charge ${id} failed, so there is nothing to refund.`, id);
  }
  const captured = capturedAmount(payment);
  if (captured === 0) {
    throw refundRefused('charge_not_refundable', `Charge ${id} has not been captured yet.`, id);
  }
  if (payment.status === 'disputed') {
    throw refundRefused('charge_disputed', `Charge ${id} has been charged back; it cannot be refunded.`, id);
  }
  if (declinesRefunds(payment)) {
    throw refundRefused('charge_not_refundable', `The card issuer declined the refund of charge ${id}.`, id);
  }
  const left = captured - sandbox.ledger.refundedAmount(payment);
  if (left <= 0)
    throw refundRefused('charge_already_refunded', `Charge ${id} has already been refunded.`, id);
  return left;
}

function readAmount(amountStripe: number, currency: string): number {
  const step = stripeStep(currency);
  if (amountStripe % step !== 0) {
    const message = `Invalid amount for ${currency}: it must be a multiple of ${step}.`;
    throw new StripeRefusal(400, { type: 'invalid_request_error', message, param: 'amount' });
  }
  return fromStripeUnits(amountStripe, currency);
}

function tooMuch(amount: number, left: number, currency: string): StripeRefusal {
  const shown = (minor: number) =>
    currency === 'usd' ? `$${toDecimal(minor, currency)}` : `${toDecimal(minor, currency)} ${currency}`;
  const message = `Refund amount (${shown(amount)}) is greater than unrefunded amount on charge (${shown(left)})`;
  return new StripeRefusal(400, { type: 'invalid_request_error', message, param: 'amount' });
}
