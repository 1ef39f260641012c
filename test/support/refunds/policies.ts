import { evaluatePolicies, tracePolicies } from '#shared/policies/evaluate.ts';
import {
  type Policy,
  type PolicyFacts,
  type PolicyInput,
  policySchema,
  type RefundSummary,
  type Velocity,
} from '#shared/policies/policy.ts';
import type { RefundStatus } from '#shared/refunds/model/states.ts';

/** Sums up the refunds that have neither failed nor been cancelled. */
export function summaryOf(
  refunds: readonly { amount: bigint; status: RefundStatus; createdAt: Date }[],
): RefundSummary {
  const live = refunds.filter(({ status }) => status !== 'failed' && status !== 'cancelled');
  return {
    count: live.length,
    amount: live.reduce((sum, { amount }) => sum + amount, 0n),
    lastAt: live.length === 0 ? null : new Date(Math.max(...live.map(({ createdAt }) => +createdAt))),
  };
}

/** When the payment of `facts` was made. */
export const charged = new Date('2026-01-01T12:00:00.000Z');
/** 30 days after `charged`. */
export const deadline = new Date('2026-01-31T12:00:00.000Z');
/** A time some milliseconds after another. */
export const later = (from: Date, ms: number) => new Date(from.getTime() + ms);

/** A policy with only the given rules. */
export function policy(rules: Partial<PolicyInput> = {}): Policy {
  return policySchema.parse({ name: 'Shop', priority: 1, ...rules });
}

/** The differences from the default of `facts`. */
export interface Given {
  transaction?: Partial<PolicyFacts['transaction']>;
  refunds?: Parameters<typeof summaryOf>[0];
  velocity?: Velocity;
  requesterVelocity?: Velocity;
  request?: Partial<PolicyFacts['request']>;
  now?: Date;
}

/** A payment of 100.00 USD at `charged`, evaluated a day later for the API. */
export function facts({ transaction, refunds = [], request, ...rest }: Given = {}): PolicyFacts {
  const paid = {
    amount: 10_000n,
    currency: 'usd',
    chargedAt: charged,
    processor: 'stripe',
    refundedOutside: 0n,
  };
  return {
    transaction: { ...paid, ...transaction },
    refunds: summaryOf(refunds),
    velocity: { refundsInLastDay: 0, amountInLastDay: 0n },
    requesterVelocity: { refundsInLastDay: 0, amountInLastDay: 0n },
    request: { amount: null, reason: null, metadata: null, initiatedBy: 'api', ...request },
    now: later(charged, 86_400_000),
    ...rest,
  };
}

export type Status = Parameters<typeof summaryOf>[0][number]['status'];
/** A refund of the payment. */
export const refund = (amount: bigint, status: Status = 'completed') => ({
  amount,
  status,
  createdAt: charged,
});
export const asked = (amount: bigint, given: Given = {}) =>
  facts({ ...given, request: { ...given.request, amount } });
/** The verdict of one policy. */
export const evaluate = (rules: Partial<PolicyInput>, given: PolicyFacts) =>
  evaluatePolicies([policy(rules)], given);
/** The rule that decided, by the trace of one policy. */
export const lastRule = (rules: Partial<PolicyInput>, given: PolicyFacts) =>
  tracePolicies([policy(rules)], given).at(-1);
