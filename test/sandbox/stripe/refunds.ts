import type { Refund } from '../ledger/ledger.ts';
import { findPayment, scopeOf } from '../ledger/payments.ts';
import { moveRefund, type Sandbox } from '../ledger/state.ts';
import { invalidParameter, noSuch, StripeRefusal } from './errors.ts';
import { refundObject } from './objects.ts';
import type { StripeRequest } from './request.ts';

export function retrieveRefund(sandbox: Sandbox, request: StripeRequest) {
  return refundObject(knownRefund(sandbox, request));
}

export function cancelRefund(sandbox: Sandbox, request: StripeRequest) {
  const refund = knownRefund(sandbox, request);
  if (refund.status !== 'requires_action') {
    const message = `Refund ${refund.id} has status ${refund.status}; only requires_action can be canceled.`;
    throw new StripeRefusal(400, { type: 'invalid_request_error', message });
  }
  return refundObject(moveRefund(sandbox, refund, { status: 'canceled' }, request.cause));
}

/** Newest first, by cursor. */
export function listRefunds(sandbox: Sandbox, request: StripeRequest) {
  const newestFirst = refundsAskedFor(sandbox, request).reverse();
  const limit = readLimit(request.form.values.limit);
  const start = afterCursor(newestFirst, request.form.values.starting_after);
  const page = newestFirst.slice(start, start + limit);
  return {
    object: 'list',
    url: '/v1/refunds',
    has_more: start + limit < newestFirst.length,
    data: page.map(refundObject),
  };
}

function refundsAskedFor(sandbox: Sandbox, request: StripeRequest): Refund[] {
  const scope = scopeOf('stripe', request.account.environment);
  const { charge, payment_intent: paymentIntent } = request.form.values;
  const param = charge !== undefined ? 'charge' : 'payment_intent';
  const id = charge ?? paymentIntent;
  if (id === undefined) return madeWithin(sandbox.ledger.refunds(scope), request.form.nested.created ?? {});
  const payment = findPayment(sandbox, scope, id);
  if (payment === undefined) throw noSuch(param, id, param);
  return sandbox.ledger.refundsOf(payment);
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

function readLimit(limit: string | undefined): number {
  if (limit === undefined) return 10;
  const count = Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > 100) {
    throw invalidParameter(
      'limit',
      'limit must be an integer between 1 and 100',
      'parameter_invalid_integer',
    );
  }
  return count;
}

function afterCursor(refunds: readonly Refund[], startingAfter: string | undefined): number {
  if (startingAfter === undefined) return 0;
  const index = refunds.findIndex((refund) => refund.id === startingAfter);
  if (index === -1) throw noSuch('refund', startingAfter, 'starting_after');
  return index + 1;
}

function knownRefund(sandbox: Sandbox, request: StripeRequest): Refund {
  const refund = sandbox.ledger.refund(scopeOf('stripe', request.account.environment), request.id);
  if (refund === undefined) throw noSuch('refund', request.id, 'id');
  return refund;
}
