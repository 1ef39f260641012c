import type { Policy, PolicyFacts, PolicyLimits } from './policy.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** What a payment was, what refunds have taken of it, and what is left, in minor units. */
export interface Balance {
  currency: string;
  original: bigint;
  /** All that was refunded or is on its way, `outside` included. */
  taken: bigint;
  /** The part of `taken` that this service had no hand in. */
  outside: bigint;
  /** How many live refunds this service has of the payment. */
  refundCount: number;
  lastRefundAt: Date | null;
  remaining: bigint;
}

/** One bound on what can still be refunded; the lowest one counts. */
export interface Cap {
  kind: 'balance' | 'maxPercent' | 'maxAmount' | 'perDay';
  /** What the bound leaves for the next refund; never negative. */
  left: bigint;
}

/** The time in which a payment can be refunded. The deadline itself is still inside. */
export interface RefundWindow {
  deadline: Date;
  open: boolean;
}

/** A whole percentage of an amount, exactly, rounded down to the minor unit. */
export function percentOf(amount: bigint, percent: number): bigint {
  return (amount * BigInt(percent)) / 100n;
}

/** What refunds have taken. */
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

function leftOf(limit: bigint, used: bigint): bigint {
  return limit > used ? limit - used : 0n;
}

/** The refund window of a payment under a policy; null when the policy has none. */
export function windowOf(policy: Policy | null, { transaction, now }: PolicyFacts): RefundWindow | null {
  if (policy === null || policy.windowDays === null) return null;
  const deadline = new Date(transaction.chargedAt.getTime() + policy.windowDays * dayMs);
  return { deadline, open: now.getTime() <= deadline.getTime() };
}

/** The lowest bound on the next refund. Limits per payment count all refunds of it, so that splitting gains nothing. */
export function lowestCap(policy: Policy | null, { velocity }: PolicyFacts, balance: Balance): Cap {
  const { original, taken, currency } = balance;
  const caps: Cap[] = [];
  if (policy !== null && policy.maxPercent !== null) {
    caps.push({ kind: 'maxPercent', left: leftOf(percentOf(original, policy.maxPercent), taken) });
  }
  if (policy?.maxAmount?.currency === currency) {
    caps.push({ kind: 'maxAmount', left: leftOf(policy.maxAmount.amount, taken) });
  }
  const perDay = policy?.velocity.perDay?.amount;
  if (perDay !== undefined) caps.push({ kind: 'perDay', left: leftOf(perDay, velocity.amountInLastDay) });
  const whole: Cap = { kind: 'balance', left: balance.remaining };
  return caps.reduce((lowest, cap) => (cap.left < lowest.left ? cap : lowest), whole);
}

/** The bounds of a policy on one payment, for the moment at which a refund is recorded. */
export function limitsOf(policy: Policy, { currency, original }: Balance): PolicyLimits {
  const { maxPercent, maxAmount, velocity } = policy;
  const caps = [
    ...(maxPercent === null ? [] : [percentOf(original, maxPercent)]),
    ...(maxAmount?.currency === currency ? [maxAmount.amount] : []),
  ];
  const [cap] = caps.sort((one, other) => (one < other ? -1 : 1));
  const { perTransaction, perDay } = velocity;
  return {
    ...(cap === undefined ? {} : { maxTaken: cap }),
    ...(perTransaction === undefined ? {} : { maxRefunds: perTransaction }),
    ...(perDay?.count === undefined ? {} : { dayCount: perDay.count }),
    ...(perDay?.amount === undefined ? {} : { dayAmount: perDay.amount }),
  };
}
