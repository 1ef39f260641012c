import type { Refund } from '../platform/database.ts';
import type { PolicyFacts, RefundSummary, Velocity } from './policy.ts';

/** A refund as it counts towards the limits of later ones. */
export type CountedRefund = Pick<Refund, 'paymentId' | 'requester' | 'currency' | 'amount' | 'createdAt'> & {
  /** When it failed or was cancelled; null when it did not. */
  endedAt: Date | null;
};

/** Refunds of one payment from before, which end together or not at all. */
export interface EarlierRefunds extends Pick<CountedRefund, 'paymentId' | 'amount' | 'endedAt'> {
  count: number;
}

interface DayTotal {
  count: number;
  amounts: Map<string, bigint>;
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * What refunds came to at a moment of the past, for moments that only move forward. Refunds are added in the order of their
 * creation.
 */
export class PastTotals {
  readonly #payments = new Map<bigint, RefundSummary>();
  /** By requester; null for the organization. */
  readonly #days = new Map<string | null, DayTotal>();
  /** The refunds of the last 24 hours that have not ended, the oldest first, from `#dayStart` on. */
  #lastDay: CountedRefund[] = [];
  #dayStart = 0;
  /** What will end, the next one last. */
  readonly #ends: { at: number; end: () => void }[] = [];

  /** Counts a refund from now on. */
  add(refund: CountedRefund): void {
    this.#change(refund.paymentId, 1, refund.amount);
    this.#changeDays(refund, 1);
    this.#lastDay.push(refund);
    this.#endAt(refund.endedAt, () => {
      this.#change(refund.paymentId, -1, -refund.amount);
      if (isWithinDay(refund, refund.endedAt)) this.#changeDays(refund, -1);
    });
  }

  /** Counts refunds that are older than a day towards their payment. */
  addEarlier({ paymentId, count, amount, endedAt }: EarlierRefunds): void {
    this.#change(paymentId, count, amount);
    this.#endAt(endedAt, () => this.#change(paymentId, -count, -amount));
  }

  /** The facts about a refund that is created now, before it is added. */
  factsAt(
    now: Date,
    { paymentId, requester, currency }: CountedRefund,
  ): Pick<PolicyFacts, 'refunds' | 'velocity' | 'requesterVelocity'> {
    this.#advanceTo(now);
    return {
      refunds: this.#payments.get(paymentId) ?? { count: 0, amount: 0n, lastAt: null },
      velocity: velocityOf(this.#days.get(null), currency),
      requesterVelocity: velocityOf(this.#days.get(requester), currency),
    };
  }

  #advanceTo(now: Date): void {
    for (let next = this.#ends.at(-1); next !== undefined && next.at <= +now; next = this.#ends.at(-1)) {
      this.#ends.pop();
      next.end();
    }
    for (;;) {
      const oldest = this.#lastDay[this.#dayStart];
      if (oldest === undefined || isWithinDay(oldest, now)) break;
      this.#dayStart += 1;
      // One that has ended within the day was taken out then.
      if (!isWithinDay(oldest, oldest.endedAt)) this.#changeDays(oldest, -1);
    }
    if (this.#dayStart > this.#lastDay.length / 2) {
      this.#lastDay = this.#lastDay.slice(this.#dayStart);
      this.#dayStart = 0;
    }
  }

  #endAt(at: Date | null, end: () => void): void {
    if (at === null) return;
    const place = this.#ends.findLastIndex((each) => each.at >= +at);
    this.#ends.splice(place + 1, 0, { at: +at, end });
  }

  #change(paymentId: bigint, count: number, amount: bigint): void {
    const total = this.#payments.get(paymentId);
    this.#payments.set(paymentId, {
      count: (total?.count ?? 0) + count,
      amount: (total?.amount ?? 0n) + amount,
      lastAt: null,
    });
  }

  #changeDays({ requester, currency, amount }: CountedRefund, sign: 1 | -1): void {
    for (const key of [null, requester]) {
      const day = this.#days.get(key) ?? { count: 0, amounts: new Map() };
      day.count += sign;
      day.amounts.set(currency, (day.amounts.get(currency) ?? 0n) + BigInt(sign) * amount);
      if (day.count === 0) this.#days.delete(key);
      else this.#days.set(key, day);
    }
  }
}

/** Whether a moment is less than 24 hours after the creation of a refund. */
function isWithinDay({ createdAt }: Pick<CountedRefund, 'createdAt'>, at: Date | null): boolean {
  return at !== null && +at < +createdAt + dayMs;
}

function velocityOf(day: DayTotal | undefined, currency: string): Velocity {
  return { refundsInLastDay: day?.count ?? 0, amountInLastDay: day?.amounts.get(currency) ?? 0n };
}
