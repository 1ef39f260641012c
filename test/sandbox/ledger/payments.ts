import type { Environment, Payment, Processor, Scope } from './ledger.ts';
import { randomId, type Sandbox } from './state.ts';

const DAY_MS = 86_400_000;
const STRIPE_SHAPE = /^(ch|py|pi)_[A-Za-z0-9_]{3,}$/;
const BRAINTREE_SHAPE = /^[A-Za-z0-9_-]{3,36}$/;
const NEVER_A_BRAINTREE_SALE = /^(ch|py|pi|re|pyr|credit)_/;

/** Prefix of the ids given to Braintree credits, so that an unknown one is not mistaken for a sale. */
export const CREDIT_PREFIX = 'credit_';

export function mayNotExist(id: string): boolean {
  return id.includes('missing');
}

/** The part of a Stripe payment that was collected and can be refunded. */
export function capturedAmount({ status, amount, capturedAmount: captured }: Payment): number {
  if (status === 'failed') return 0;
  return captured ?? (status === 'uncaptured' ? 0 : amount);
}

/** True when the issuer declines every refund of the payment. */
export function declinesRefunds(payment: Payment): boolean {
  return payment.registeredAs.includes('declined') || payment.id.includes('declined');
}

/** The ids under which a payment may be stored; new ones are stored under the first. */
export function storedIds(scope: Scope, id: string): string[] {
  if (scope.processor === 'stripe' && id.startsWith('pi_')) return [`ch_${id.slice(3)}`, `py_${id.slice(3)}`];
  return [id];
}

/** A charge and its payment intent are one payment and share everything after the prefix. */
export function paymentIntentId(payment: Payment): string {
  return `pi_${payment.id.slice(3)}`;
}

export function isNamed(payment: Payment, id: string): boolean {
  return storedIds(payment, id).includes(payment.id);
}

/** Every id of a payment, given one of them. */
export function namesOf(sandbox: Sandbox, scope: Scope, id: string): string[] {
  const payment = knownPayment(sandbox, scope, id);
  if (payment === undefined) return [id];
  const intent = scope.processor === 'stripe' ? [paymentIntentId(payment)] : [];
  return [payment.id, payment.registeredAs, ...intent];
}

export function knownPayment(sandbox: Sandbox, scope: Scope, id: string): Payment | undefined {
  for (const stored of storedIds(scope, id)) {
    const payment = sandbox.ledger.payment(scope, stored);
    if (payment) return payment;
  }
  return undefined;
}

const INITIAL_STATUS: Record<Processor, string> = { stripe: 'succeeded', braintree: 'settled' };

/** Finds a payment. An unknown id of plausible form becomes a payment of 100.00 USD made yesterday. */
export function findPayment(sandbox: Sandbox, scope: Scope, id: string): Payment | undefined {
  const known = knownPayment(sandbox, scope, id);
  if (known || !isPlausible(scope, id)) return known;
  const payment: Payment = {
    ...scope,
    id: storedIds(scope, id)[0] ?? id,
    registeredAs: id,
    amount: 10_000,
    currency: 'usd',
    createdAt: sandbox.now() - DAY_MS,
    status: INITIAL_STATUS[scope.processor],
    // Refunds to a customer balance require action, so that a first refund can be cancelled.
    paymentMethod: scope.processor === 'stripe' ? 'customer_balance' : 'card',
  };
  sandbox.ledger.putPayment(payment);
  return payment;
}

function isPlausible(scope: Scope, id: string): boolean {
  if (mayNotExist(id)) return false;
  switch (scope.processor) {
    case 'stripe':
      return STRIPE_SHAPE.test(id);
    case 'braintree':
      return BRAINTREE_SHAPE.test(id) && !NEVER_A_BRAINTREE_SALE.test(id);
  }
}

export function newPaymentId(processor: Processor): string {
  switch (processor) {
    case 'stripe':
      return randomId('ch_', 24);
    case 'braintree':
      return randomId('', 8);
  }
}

export function scopeOf(processor: Processor, environment: Environment): Scope {
  return { processor, environment };
}
