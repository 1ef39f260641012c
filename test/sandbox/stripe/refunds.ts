import type Stripe from 'stripe';
import { toDecimal } from '../currency.ts';
import { declinesRefunds, type Payment, type Refund, refundOf, type Settings } from '../ledger.ts';
import { randomId } from '../random-id.ts';
import { fromStripeUnits, stripeStep } from './amounts.ts';
import { invalidParameter, noSuch, refused } from './answers.ts';
import { moveReturned, returnedWith } from './connect.ts';
import { capturedAmount, refundObject } from './objects.ts';
import { findPayment } from './payments.ts';
import type { StripeRequest } from './processor.ts';

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'];
const PARAMETERS: readonly (keyof Stripe.RefundCreateParams)[] = [
  ...([
    'charge',
    'payment_intent',
    'amount',
    'currency',
    'customer',
    'reason',
    'metadata',
    'expand',
  ] as const),
  ...(['instructions_email', 'origin', 'refund_application_fee', 'reverse_transfer'] as const),
];
/** Stripe's test cards whose refunds take another course. */
const CARDS = { pendingFirst: '4000000000007726', failsLater: '4000000000005126' };

export function createRefund(request: StripeRequest) {
  const { ledger, form } = request;
  checkParameters(form);
  const payment = namedPayment(request);
  if (payment === null) throw invalidParameter('charge', 'One of charge or payment_intent is required.');
  const left = refundableAmount(request, payment);
  const asked = form.get('amount');
  const amount = asked === null ? left : readAmount(Number(asked), payment.currency);
  if (amount > left) throw tooMuch(amount, left, payment.currency);
  if (settingsOf(request).insufficientBalance === 'refused') throw insufficientBalance();
  const returned = returnedWith(request, payment, amount);
  moveReturned(ledger, payment, returned);
  const metadata = nested(form, 'metadata');
  const refund = refundOf(payment, {
    id: randomId('re_', 24),
    amount,
    ...courseOf(request, payment, amount),
    ...returned,
    instructionsEmail: form.get('instructions_email') ?? undefined,
    reference: metadata.refund_id ?? '',
    createdAt: ledger.now(),
    reason: form.get('reason'),
    metadata,
  });
  return refundObject(ledger, ledger.addRefund(refund));
}

function checkParameters(form: URLSearchParams): void {
  const known: readonly string[] = PARAMETERS;
  const unknown = [...form.keys()].find((name) => !known.includes(name.replace(/\[.*/, '')));
  if (unknown !== undefined) throw invalidParameter(unknown, `Received unknown parameter: ${unknown}`);
  const [amount, reason] = [form.get('amount'), form.get('reason')];
  if (amount !== null && !/^[1-9]\d{0,14}$/.test(amount)) {
    throw invalidParameter('amount', `Invalid positive integer: ${amount}`);
  }
  if (reason !== null && !REASONS.includes(reason)) {
    throw invalidParameter('reason', `Invalid reason: must be one of ${REASONS.join(', ')}`);
  }
}

type Course = Pick<Refund, 'status' | 'becomes' | 'heldBy'>;

/** How a refund begins, and what follows. */
function courseOf(request: StripeRequest, payment: Payment, amount: number): Course {
  const course = usualCourse(request, payment, amount);
  const { autoSettleMs } = request.ledger.settings;
  const isOver = autoSettleMs === 0 && course.heldBy === undefined && course.becomes === 'succeeded';
  return isOver ? { status: 'succeeded', becomes: null } : course;
}

function usualCourse(request: StripeRequest, payment: Payment, amount: number): Course {
  const { paymentMethod, status, card, connectedAccount } = payment;
  const settings = settingsOf(request);
  const pending = { status: 'pending', becomes: 'succeeded' };
  if (paymentMethod === 'customer_balance') return { status: 'requires_action', becomes: 'succeeded' };
  if (status === 'pending') return { ...pending, heldBy: 'payment' };
  if (settings.insufficientBalance !== null) return { ...pending, heldBy: 'balance' };
  if (connectedAccount !== undefined && !request.ledger.takeBalance(payment, connectedAccount, amount)) {
    return { ...pending, heldBy: 'balance' };
  }
  const isAtOnce = paymentMethod === 'card' && settings.autoSettleMs !== null;
  if (!isAtOnce || card === CARDS.pendingFirst) return pending;
  return { status: 'succeeded', becomes: card === CARDS.failsLater ? 'failed' : null };
}

/** The balance in the settings is that of the platform. */
function settingsOf({ ledger: { settings }, scope }: StripeRequest): Settings {
  return scope.connectedAccount === undefined ? settings : { ...settings, insufficientBalance: null };
}

/** What is left to refund; throws when the payment cannot be refunded at all. */
function refundableAmount({ ledger }: StripeRequest, payment: Payment): number {
  const { id: charge } = payment;
  const refuse = (code: string, message: string) => refused({ code, message, charge });
  if (payment.status === 'failed') {
    throw refuse('charge_not_refundable', `Charge ${charge} failed, so there is nothing to refund.`);
  }
  const captured = capturedAmount(payment);
  if (captured === 0) {
    throw refuse('charge_not_refundable', `Charge ${charge} has not been captured yet.`);
  }
  if (payment.status === 'disputed') {
    throw refuse('charge_disputed', `Charge ${charge} has been charged back; it cannot be refunded.`);
  }
  if (declinesRefunds(payment)) {
    throw refuse('charge_not_refundable', `The card issuer declined the refund of charge ${charge}.`);
  }
  const left = captured - ledger.refundedAmount(payment);
  if (left <= 0) throw refuse('charge_already_refunded', `Charge ${charge} has already been refunded.`);
  return left;
}

function readAmount(amountStripe: number, currency: string): number {
  const step = stripeStep(currency);
  if (amountStripe % step === 0) return fromStripeUnits(amountStripe, currency);
  const message = `Invalid amount for ${currency}: it must be a multiple of ${step}.`;
  throw refused({ message, param: 'amount' });
}

function insufficientBalance() {
  const message = 'Insufficient funds in your Stripe balance to refund this amount.';
  return refused({ message, message_code: 'insufficient_balance_for_refund' });
}

function tooMuch(amount: number, left: number, currency: string) {
  const shown = (minor: number) =>
    currency === 'usd' ? `$${toDecimal(minor, currency)}` : `${toDecimal(minor, currency)} ${currency}`;
  const message = `Refund amount (${shown(amount)}) is greater than unrefunded amount on charge (${shown(left)})`;
  return refused({ message, param: 'amount' });
}

export function retrieveRefund(request: StripeRequest) {
  return refundObject(request.ledger, knownRefund(request, request.id, 'id'));
}

export function cancelRefund(request: StripeRequest) {
  const refund = knownRefund(request, request.id, 'id');
  if (refund.status !== 'requires_action') {
    const message = `Refund ${refund.id} has status ${refund.status}; only requires_action can be canceled.`;
    throw refused({ message });
  }
  return refundObject(request.ledger, request.ledger.moveRefund(refund, { status: 'canceled' }));
}

/** Newest first, by cursor. */
export function listRefunds(request: StripeRequest) {
  const { form } = request;
  const newestFirst = refundsAskedFor(request).reverse();
  const limit = Number(form.get('limit') ?? 10);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw invalidParameter('limit', 'limit must be an integer between 1 and 100');
  }
  const cursor = form.get('starting_after');
  const start = cursor === null ? 0 : newestFirst.indexOf(knownRefund(request, cursor, 'starting_after')) + 1;
  return {
    object: 'list',
    url: '/v1/refunds',
    has_more: start + limit < newestFirst.length,
    data: newestFirst.slice(start, start + limit).map((refund) => refundObject(request.ledger, refund)),
  } satisfies Stripe.ApiList<Stripe.Refund>;
}

function refundsAskedFor(request: StripeRequest): Refund[] {
  const { ledger, scope, form } = request;
  const payment = namedPayment(request);
  return payment === null
    ? madeWithin(ledger.refunds(scope), nested(form, 'created'))
    : ledger.refundsOf(payment);
}

/** `created[gte]` and its like, in whole seconds. */
function madeWithin(refunds: Refund[], created: Record<string, string>): Refund[] {
  const holds: Record<string, (second: number, bound: number) => boolean> = {
    gt: (second, bound) => second > bound,
    gte: (second, bound) => second >= bound,
    lt: (second, bound) => second < bound,
    lte: (second, bound) => second <= bound,
  };
  const bounds = Object.entries(created).map(([operator, text]) => {
    const check = holds[operator];
    if (check === undefined || !/^\d+$/.test(text)) {
      throw invalidParameter(`created[${operator}]`, 'created takes gt, gte, lt and lte, in seconds.');
    }
    return (second: number) => check(second, Number(text));
  });
  return refunds.filter(({ createdAt }) => bounds.every((fits) => fits(Math.floor(createdAt / 1000))));
}

/** The payment that the form names; null when it names none. */
function namedPayment(request: StripeRequest): Payment | null {
  for (const kind of ['charge', 'payment_intent'] as const) {
    const id = request.form.get(kind);
    if (id !== null) return findPayment(request, kind, id);
  }
  return null;
}

function knownRefund({ ledger, scope }: StripeRequest, id: string, param: string): Refund {
  const refund = ledger.refund(scope, id);
  if (refund === undefined) throw noSuch(param, id);
  return refund;
}

/** `metadata[a]=b&metadata[c]=d` is `{a: 'b', c: 'd'}`. */
function nested(form: URLSearchParams, name: string): Record<string, string> {
  const named = [...form].filter(([key]) => key.startsWith(`${name}[`));
  return Object.fromEntries(named.map(([key, value]) => [key.slice(name.length + 1, -1), value]));
}
