import { z } from 'zod';
import { currencySchema, minorUnits } from '../money/amount-schemas.ts';
import { formatAmount } from '../money/money.ts';
import { type RefundReason, refundReasons } from '../refund-request/reasons.ts';
import { leftOf } from './balance.ts';
import { type Bounds, lowestOf, rangeAround, withinAll } from './bounds.ts';
import type { Threshold } from './policy.ts';

/**
 * What an agent may refund with its key. Limits are inclusive and in minor units of `currency`; refunds in another currency
 * are refused. What is left out does not limit.
 */
export const agentLimitsSchema = z.strictObject(
  {
    currency: currencySchema,
    maxPerRefund: minorUnits(1).optional(),
    /** All refunds of one payment together, whoever requested them. */
    maxPerPayment: minorUnits(1).optional(),
    /** The refunds that this key requested in the last 24 hours. */
    maxPerDay: minorUnits(1).optional(),
    reasons: z
      .array(z.enum(refundReasons, { error: `must be one of: ${refundReasons.join(', ')}` }), {
        error: 'must be a list of reasons',
      })
      .min(1, { error: 'must contain at least one reason' })
      .optional(),
    /** More than this, for all refunds of one payment together, requires approval. */
    approvalAbove: minorUnits(0).optional(),
  },
  { error: 'must be an object with at least a currency' },
);

export type AgentLimits = z.output<typeof agentLimitsSchema>;

/** What agent limits decide by. Amounts are minor units of the payment's currency. */
export interface AgentFacts {
  /** Null for whether the payment can be refunded at all. */
  amount: bigint | null;
  /** Null when it is not known yet. */
  reason: RefundReason | null;
  /** Of the payment; lowercase ISO 4217. */
  currency: string;
  /** What all refunds of the payment come to without this one. */
  taken: bigint;
  /** What the key's refunds of the last 24 hours come to. */
  takenInLastDay: bigint;
  /** What the payment and the policies leave for this refund. */
  available: bigint;
}

/** What the limits of an agent's key say about a refund. */
export interface AgentVerdict {
  /** Why the refund is refused, and what would be accepted; null when it is allowed. */
  denial: string | null;
  /** The most that is accepted now. */
  left: bigint;
  /** Whether the refund requires approval. */
  approvalRequired: boolean;
  /** The threshold of the key that requires approval; none or one. */
  exceeded: readonly Threshold[];
  /** Within which this applies; null when no other refund can change it. */
  bounds: Bounds | null;
}

/**
 * The limits of a key as stored; null for a key that is not for agents.
 * @throws z.ZodError when they are not valid, so that no refund is created without them.
 */
export function readAgentLimits(stored: unknown): AgentLimits | null {
  return stored === null ? null : agentLimitsSchema.parse(stored);
}

/** True when the limits compare something with what all refunds of a payment come to. */
export function limitsPayment({ maxPerPayment, approvalAbove }: AgentLimits): boolean {
  return (maxPerPayment ?? approvalAbove) !== undefined;
}

/** Evaluates the limits of an agent's key. Pure: the same facts give the same verdict. */
export function evaluateAgentLimits(limits: AgentLimits, facts: AgentFacts): AgentVerdict {
  const { amount, taken } = facts;
  const { maxPerPayment, maxPerDay, approvalAbove } = limits;
  const total = taken + (amount ?? 1n);
  const caps = capsOf(limits, facts);
  const left = lowestOf([facts.available, ...caps.map((cap) => cap.left)]) ?? 0n;
  const exceeded =
    approvalAbove !== undefined && total > approvalAbove
      ? [{ of: 'key' as const, above: approvalAbove, total }]
      : [];
  const isForeign = facts.currency !== limits.currency;
  return {
    denial: isForeign
      ? `This key may refund payments in ${limits.currency.toUpperCase()} only.`
      : (reasonDenial(limits, facts) ?? amountDenial(caps, facts, left)),
    left: isForeign ? 0n : left,
    approvalRequired: exceeded.length > 0,
    exceeded,
    bounds: withinAll([
      { payment: rangeAround(approvalAbove === undefined ? [] : [approvalAbove], total) },
      { payment: { maxAmount: maxPerPayment }, apiKey: { maxAmount: maxPerDay } },
    ]),
  };
}

interface Cap {
  limit: bigint;
  left: bigint;
  /** Completes "at most 50.00 USD ...". */
  scope: string;
}

function capsOf(
  { maxPerRefund, maxPerPayment, maxPerDay }: AgentLimits,
  { taken, takenInLastDay }: AgentFacts,
): Cap[] {
  const cap = (limit: bigint | undefined, used: bigint, scope: string): Cap[] =>
    limit === undefined ? [] : [{ limit, left: leftOf(limit, used), scope }];
  return [
    ...cap(maxPerRefund, 0n, 'per refund'),
    ...cap(maxPerPayment, taken, 'of a payment'),
    ...cap(maxPerDay, takenInLastDay, 'in 24 hours'),
  ];
}

function reasonDenial({ reasons }: AgentLimits, { reason }: AgentFacts): string | null {
  if (reasons === undefined || reason === null || reasons.includes(reason)) return null;
  return `This key may refund for these reasons only: ${reasons.join(', ')}.`;
}

/** By the cap that leaves the least. */
function amountDenial(caps: readonly Cap[], { amount, currency }: AgentFacts, left: bigint): string | null {
  const [lowest] = caps.toSorted((one, other) => (one.left < other.left ? -1 : 1));
  if (lowest === undefined || lowest.left >= (amount ?? 1n)) return null;
  const limit = `This key may refund at most ${formatAmount(lowest.limit, currency)} ${lowest.scope}`;
  if (left === lowest.limit) return `${limit}.`;
  return `${limit}; ${left === 0n ? 'nothing is' : `${formatAmount(left, currency)} are`} left.`;
}

/** The limits that apply to a payment, for people. */
export function agentConditions(limits: AgentLimits): string[] {
  const { currency, maxPerRefund, maxPerPayment, maxPerDay, reasons, approvalAbove } = limits;
  const line = (amount: bigint | undefined, name: string): string[] =>
    amount === undefined ? [] : [`${name} ${formatAmount(amount, currency)}`];
  return [
    ...line(maxPerRefund, 'Limit of this key per refund:'),
    ...line(maxPerPayment, 'Limit of this key per payment:'),
    ...line(maxPerDay, 'Limit of this key in 24 hours:'),
    ...(reasons === undefined ? [] : [`Reasons that this key may give: ${reasons.join(', ')}`]),
    ...line(approvalAbove, "Approval: with this key, required when this payment's refunds exceed"),
  ];
}
