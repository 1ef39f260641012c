import type { Payment } from '../ledger/ledger.ts';
import { findPayment, scopeOf } from '../ledger/payments.ts';
import type { Sandbox } from '../ledger/state.ts';
import { invalidParameter, noSuch } from './errors.ts';
import { chargeObject, disputeObject, paymentIntentObject } from './objects.ts';
import type { StripeRequest } from './request.ts';

export function retrieveCharge(sandbox: Sandbox, request: StripeRequest) {
  const payment = request.id.startsWith('pi_') ? undefined : find(sandbox, request);
  if (payment === undefined) throw noSuch('charge', request.id, 'id');
  return chargeObject(sandbox.ledger, payment);
}

export function retrievePaymentIntent(sandbox: Sandbox, request: StripeRequest) {
  const payment = request.id.startsWith('pi_') ? find(sandbox, request) : undefined;
  if (payment === undefined) throw noSuch('payment_intent', request.id, 'intent');
  const expanded = Object.values(request.form.nested.expand ?? {});
  return paymentIntentObject(sandbox.ledger, payment, expanded.includes('latest_charge'));
}

/** Those of one charge. */
export function listDisputes(sandbox: Sandbox, request: StripeRequest) {
  const { charge } = request.form.values;
  if (charge === undefined) throw invalidParameter('charge', 'The sandbox lists disputes by charge only.');
  const payment = findPayment(sandbox, scopeOf('stripe', request.account.environment), charge);
  if (payment === undefined || charge.startsWith('pi_')) throw noSuch('charge', charge, 'charge');
  const data = payment.status === 'disputed' ? [disputeObject(payment)] : [];
  return { object: 'list', url: '/v1/disputes', has_more: false, data };
}

function find(sandbox: Sandbox, request: StripeRequest): Payment | undefined {
  return findPayment(sandbox, scopeOf('stripe', request.account.environment), request.id);
}
