import type Stripe from 'stripe';
import type { Payment } from '../ledger.ts';
import { noSuch } from './answers.ts';
import { disputeObject } from './disputes.ts';
import { chargeObject, disputeStatus, paymentIntentObject } from './objects.ts';
import type { StripeRequest } from './processor.ts';

export function retrieveCharge(request: StripeRequest) {
  return chargeObject(request.ledger, findPayment(request, 'charge', request.id));
}

export function retrievePaymentIntent(request: StripeRequest) {
  const payment = findPayment(request, 'payment_intent', request.id);
  const expands = [...request.form.values()].includes('latest_charge');
  return paymentIntentObject(request.ledger, payment, expands);
}

/** Those of one charge. */
export function listDisputes(request: StripeRequest) {
  const payment = findPayment(request, 'charge', request.form.get('charge') ?? '');
  const data = disputeStatus(payment) === null ? [] : [disputeObject(payment)];
  return {
    object: 'list',
    url: '/v1/disputes',
    has_more: false,
    data,
  } satisfies Stripe.ApiList<Stripe.Dispute>;
}

/** @throws Refusal also for the id of the other kind. */
export function findPayment(
  { ledger, scope }: StripeRequest,
  kind: 'charge' | 'payment_intent',
  id: string,
): Payment {
  const isOfKind = id.startsWith('pi_') === (kind === 'payment_intent');
  const payment = isOfKind ? ledger.findPayment(scope, id) : undefined;
  if (payment === undefined) throw noSuch(kind, id);
  return payment;
}
