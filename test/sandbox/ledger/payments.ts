import { z } from 'zod';
import type { SandboxProcessor } from '../processor.ts';
import type { Environment, Payment, Scope } from './ledger.ts';
import type { Sandbox } from './state.ts';

const DAY_MS = 86_400_000;

/** Prefix of the ids given to Braintree credits, so that an unknown one is not mistaken for a sale. */
export const CREDIT_PREFIX = 'credit_';

function mayNotExist(id: string): boolean {
  return id.includes('missing');
}

/** The id of a payment that the control API creates. */
export function existing(shape: RegExp, message: string): z.ZodString {
  return z
    .string()
    .regex(shape, message)
    .refine((id) => !mayNotExist(id), "ids containing 'missing' never exist");
}

/** True when the issuer declines every refund of the payment. */
export function declinesRefunds(payment: Payment): boolean {
  return payment.registeredAs.includes('declined') || payment.id.includes('declined');
}

/** The ids under which a payment may be stored; new ones are stored under the first. */
export function storedIds({ payments }: SandboxProcessor, id: string): string[] {
  return payments.storedIds?.(id) ?? [id];
}

/** Every id of a payment, given one of them. */
export function namesOf(sandbox: Sandbox, scope: Scope, id: string): string[] {
  const payment = knownPayment(sandbox, scope, id);
  if (payment === undefined) return [id];
  const { otherIds } = sandbox.processor(scope.processor).payments;
  return [payment.id, payment.registeredAs, ...(otherIds?.(payment) ?? [])];
}

export function knownPayment(sandbox: Sandbox, scope: Scope, id: string): Payment | undefined {
  for (const stored of storedIds(sandbox.processor(scope.processor), id)) {
    const payment = sandbox.ledger.payment(scope, stored);
    if (payment) return payment;
  }
  return undefined;
}

/** Finds a payment. An unknown id of plausible form becomes a payment of 100.00 USD made yesterday. */
export function findPayment(sandbox: Sandbox, scope: Scope, id: string): Payment | undefined {
  const known = knownPayment(sandbox, scope, id);
  const processor = sandbox.processor(scope.processor);
  if (known || mayNotExist(id) || !processor.payments.isPlausible(id)) return known;
  const payment: Payment = {
    ...scope,
    id: storedIds(processor, id)[0] ?? id,
    registeredAs: id,
    amount: 10_000,
    currency: 'usd',
    createdAt: sandbox.now() - DAY_MS,
    status: processor.payments.statuses[0],
    paymentMethod: processor.payments.unseenMethod,
  };
  sandbox.ledger.putPayment(payment);
  return payment;
}

export function scopeOf(processor: string, environment: Environment): Scope {
  return { processor, environment };
}
