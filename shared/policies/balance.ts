import type { Policy, PolicyFacts, PolicyLimits } from './policy.ts';

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

/** The lowest of some amounts; undefined without any. */
export function lowestOf(amounts: readonly bigint[]): bigint | undefined {
  return amounts.toSorted((one, other) => (one < other ? -1 : 1))[0];
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
  const caps: Cap[] = [];
  if (policy !== null && policy.maxPercent !== null) {
    caps.push({ kind: 'maxPercent', left: leftOf(percentOf(original, policy.maxPercent), taken) });
  }
  if (policy?.maxAmount?.currency === currency) {
    caps.push({ kind: 'maxAmount', left: leftOf(policy.maxAmount.amount, taken) });
  }
  const perDay = policy?.velocity.perDay?.amount;
  if (perDay !== undefined) {
    caps.push({ kind: 'perDay', left: leftOf(perDay, facts.velocity.amountInLastDay) });
  }
  const perRequesterDay = policy?.velocity.perRequesterDay?.amount;
  if (perRequesterDay !== undefined) {
    const left = leftOf(perRequesterDay, facts.requesterVelocity.amountInLastDay);
    caps.push({ kind: 'perRequesterDay', left });
  }
  const whole: Cap = { kind: 'balance', left: balance.remaining };
  return caps.reduce((lowest, cap) => (cap.left < lowest.left ? cap : lowest), whole);
}

/** The limits of an enforced policy. */
export function limitsOf(policy: Policy, { currency, original }: Balance): PolicyLimits {
  const { maxPercent, maxAmount, velocity } = policy;
  const caps = [
    ...(maxPercent === null ? [] : [percentOf(original, maxPercent)]),
    ...(maxAmount?.currency === currency ? [maxAmount.amount] : []),
  ];
  const cap = lowestOf(caps);
  const { perTransaction, perDay, perRequesterDay } = velocity;
  return {
    ...(cap === undefined ? {} : { maxTaken: cap }),
    ...(perTransaction === undefined ? {} : { maxRefunds: perTransaction }),
    ...(perDay?.count === undefined ? {} : { dayCount: perDay.count }),
    ...(perDay?.amount === undefined ? {} : { dayAmount: perDay.amount }),
    ...(perRequesterDay?.count === undefined ? {} : { requesterDayCount: perRequesterDay.count }),
    ...(perRequesterDay?.amount === undefined ? {} : { requesterDayAmount: perRequesterDay.amount }),
  };
}

/** The totals of a payment's refunds for which a decision holds. */
export type TotalBounds = Pick<PolicyLimits, 'minTaken' | 'maxTaken'>;

/**
 * @param steps the totals above which another decision may apply.
 * @param total of the refunds, including the one decided about.
 */
export function boundsAround(steps: readonly bigint[], total: bigint): TotalBounds {
  const below = steps.filter((step) => step < total).map((step) => step + 1n);
  return boundsOf(
    below,
    steps.filter((step) => step >= total),
  );
}

/** The bounds within both. */
export function withinBoth(one: TotalBounds, other: TotalBounds): TotalBounds {
  return boundsOf(
    [one, other].flatMap(({ minTaken }) => minTaken ?? []),
    [one, other].flatMap(({ maxTaken }) => maxTaken ?? []),
  );
}

function boundsOf(lower: readonly bigint[], upper: readonly bigint[]): TotalBounds {
  const [minTaken] = lower.toSorted((one, other) => (one > other ? -1 : 1));
  const maxTaken = lowestOf(upper);
  return {
    ...(minTaken === undefined ? {} : { minTaken }),
    ...(maxTaken === undefined ? {} : { maxTaken }),
  };
}
