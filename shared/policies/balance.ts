import { type Bounds, lowestOf } from './bounds.ts';
import type { Policy, PolicyFacts } from './policy.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** The original amount of a payment, what refunds have taken of it, and what is left, in minor units. */
export interface Balance {
  currency: string;
  original: bigint;
  /** Refunded or in progress, `outside` included. */
  taken: bigint;
  /** The part of `taken` that was refunded outside this service. */
  outside: bigint;
  /** This service's refunds that have neither failed nor been cancelled. */
  refundCount: number;
  lastRefundAt: Date | null;
  remaining: bigint;
}

/** A limit on what can still be refunded; the lowest one applies. */
export interface Cap {
  kind: 'balance' | 'maxPercent' | 'maxAmount' | 'perDay' | 'perRequesterDay';
  /** What the limit leaves for the next refund; never negative. */
  left: bigint;
}

/** The time in which a payment can be refunded, up to and including the deadline. */
export interface RefundWindow {
  deadline: Date;
  open: boolean;
}

/** A whole percentage of an amount, rounded down to a minor unit. */
export function percentOf(amount: bigint, percent: number): bigint {
  return (amount * BigInt(percent)) / 100n;
}

/** What refunds have taken of a payment, and what is left. */
export function balanceOf({ transaction, refunds }: PolicyFacts): Balance {
  const outside = transaction.refundedOutside;
  const taken = refunds.amount + outside;
  return {
    currency: transaction.currency,
    original: transaction.amount,
    taken,
    outside,
    refundCount: refunds.count,
    lastRefundAt: refunds.lastAt,
    remaining: leftOf(transaction.amount, taken),
  };
}

/** What is left of a limit; never negative. */
export function leftOf(limit: bigint, used: bigint): bigint {
  return limit > used ? limit - used : 0n;
}

/** The refund window of a payment under a policy; null when the policy has none. */
export function windowOf(policy: Policy | null, { transaction, now }: PolicyFacts): RefundWindow | null {
  if (policy === null || policy.windowDays === null) return null;
  const deadline = new Date(transaction.chargedAt.getTime() + policy.windowDays * dayMs);
  return { deadline, open: now.getTime() <= deadline.getTime() };
}

/** The lowest limit on the next refund. Limits per payment count all its refunds, so splitting a refund gains nothing. */
export function lowestCap(policy: Policy | null, facts: PolicyFacts, balance: Balance): Cap {
  const { original, taken, currency } = balance;
  const { maxPercent, maxAmount, velocity } = policy ?? {};
  const cap = (kind: Cap['kind'], limit: bigint | undefined, used: bigint): Cap[] =>
    limit === undefined ? [] : [{ kind, left: leftOf(limit, used) }];
  const caps = [
    ...cap('maxPercent', maxPercent == null ? undefined : percentOf(original, maxPercent), taken),
    ...cap('maxAmount', amountIn(currency, maxAmount), taken),
    ...cap('perDay', velocity?.perDay?.amount, facts.velocity.amountInLastDay),
    ...cap('perRequesterDay', velocity?.perRequesterDay?.amount, facts.requesterVelocity.amountInLastDay),
  ];
  const whole: Cap = { kind: 'balance', left: balance.remaining };
  return caps.reduce((lowest, each) => (each.left < lowest.left ? each : lowest), whole);
}

/** A limit that applies to payments in one currency; undefined for a payment in another one. */
export function amountIn(currency: string, limit: Policy['maxAmount'] | undefined): bigint | undefined {
  return limit?.currency === currency ? limit.amount : undefined;
}

/** Within which the limits of a policy that is enforced are kept. */
export function limitsOf(
  { maxPercent, maxAmount, velocity }: Policy,
  { currency, original }: Balance,
): Bounds {
  const { perTransaction, perDay, perRequesterDay } = velocity;
  const share = maxPercent === null ? undefined : percentOf(original, maxPercent);
  return {
    payment: { maxAmount: lowestOf([share, amountIn(currency, maxAmount)]), maxCount: perTransaction },
    organization: { maxAmount: perDay?.amount, maxCount: perDay?.count },
    requester: { maxAmount: perRequesterDay?.amount, maxCount: perRequesterDay?.count },
  };
}
