import { formatAmount } from '../money/money.ts';
import { boundsAround, leftOf, lowestOf, type TotalBounds, withinBoth } from '../policies/balance.ts';
import type { RefundReason } from '../refunds/model/reasons.ts';
import { type AgentLimits, agentLimitsSchema } from './agent-limits.ts';

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
  /** The totals of the payment's refunds for which this holds. */
  bounds: TotalBounds;
}

/**
 * The limits of a key as stored; null for a key that is not for agents.
 * @throws z.ZodError when they are not valid, so that no refund is created without them.
 */
export function readAgentLimits(stored: unknown): AgentLimits | null {
  return stored === null ? null : agentLimitsSchema.parse(stored);
}

/** Evaluates the limits of an agent's key. Pure: the same facts give the same verdict. */
export function evaluateAgentLimits(limits: AgentLimits, facts: AgentFacts): AgentVerdict {
  const { amount, taken } = facts;
  const { maxPerPayment, approvalAbove } = limits;
  const total = taken + (amount ?? 1n);
  const caps = capsOf(limits, facts);
  const left = lowestOf([facts.available, ...caps.map((cap) => cap.left)]) ?? 0n;
  const isForeign = facts.currency !== limits.currency;
  return {
    denial: isForeign
      ? currencyDenial(limits)
      : (reasonDenial(limits, facts) ?? amountDenial(caps, facts, left)),
    left: isForeign ? 0n : left,
    approvalRequired: approvalAbove !== undefined && total > approvalAbove,
    bounds: withinBoth(
      boundsAround(approvalAbove === undefined ? [] : [approvalAbove], total),
      maxPerPayment === undefined ? {} : { maxTaken: maxPerPayment },
    ),
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

function currencyDenial({ currency }: AgentLimits): string {
  return `This key may refund payments in ${currency.toUpperCase()} only.`;
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
