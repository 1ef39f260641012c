/**
 * Whose refunds a total counts: those of the payment, and those of the last 24 hours of the organization, of the requester and of the
 * API key. prisma/functions/limits/counted_refunds.sql says which refunds count.
 */
const counted = ['payment', 'organization', 'requester', 'apiKey'] as const;

type Counted = (typeof counted)[number];

/** The least and the most that a total may be, inclusive. Absent means unlimited. */
interface Range {
  /** Minor units of the payment's currency. */
  minAmount?: bigint | undefined;
  maxAmount?: bigint | undefined;
  /** Refunds. */
  maxCount?: number | undefined;
}

/**
 * Between which totals, each with the refund that is decided about, a decision is valid. A creation compares them when it records the
 * refund, because other refunds may have been created since the decision.
 */
export type Bounds = Partial<Readonly<Record<Counted, Range>>>;

/** The bounds within all of these; null when they bound nothing, so that no other refund can change the decision. */
export function withinAll(all: readonly (Bounds | null)[]): Bounds | null {
  const bounds: Partial<Record<Counted, Range>> = {};
  for (const each of counted) {
    const ranges = all.map((one) => one?.[each] ?? {});
    const range = {
      minAmount: highestOf(ranges.map(({ minAmount }) => minAmount)),
      maxAmount: lowestOf(ranges.map(({ maxAmount }) => maxAmount)),
      maxCount: lowestOf(ranges.map(({ maxCount }) => maxCount)),
    };
    if (Object.values(range).some((limit) => limit !== undefined)) bounds[each] = range;
  }
  return Object.keys(bounds).length === 0 ? null : bounds;
}

/**
 * The amounts around a total for which it is above the same steps.
 * @param steps the totals above which another decision may apply.
 * @param total with the refund that is decided about.
 */
export function rangeAround(steps: readonly bigint[], total: bigint): Range {
  const below = highestOf(steps.filter((step) => step < total));
  return {
    minAmount: below === undefined ? undefined : below + 1n,
    maxAmount: lowestOf(steps.filter((step) => step >= total)),
  };
}

/** The lowest of some values; undefined without any. */
export function lowestOf<Value extends bigint | number>(
  values: readonly (Value | undefined)[],
): Value | undefined {
  return values.reduce<Value | undefined>(
    (lowest, each) => (lowest === undefined || (each ?? lowest) < lowest ? each : lowest),
    undefined,
  );
}

function highestOf(values: readonly (bigint | undefined)[]): bigint | undefined {
  const lowest = lowestOf(values.map((each) => (each === undefined ? undefined : -each)));
  return lowest === undefined ? undefined : -lowest;
}
