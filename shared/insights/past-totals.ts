import type { Refund } from '../platform/database.ts';
import type { PolicyFacts, Velocity } from '../policies/policy.ts';

/** A refund as it counts towards the limits of later ones. */
export type CountedRefund = Pick<Refund, 'paymentId' | 'requester' | 'currency' | 'amount' | 'createdAt'> & {
  /** When it failed or was cancelled; null when it did not. */
  endedAt: Date | null;
};

/** Refunds of one payment from before, which end together or not at all. */
export interface EarlierRefunds extends Pick<CountedRefund, 'paymentId' | 'amount' | 'endedAt'> {
  count: number;
}

interface Total {
  count: number;
  amount: bigint;
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * What refunds came to at a moment of the past, for moments that only move forward: those that had neither failed nor been cancelled
 * then, as prisma/functions/limits/counted_refunds.sql counts those of today. Refunds are added in the order of their creation.
 */
export class PastTotals {
  readonly #totals = new Map<string, Total>();
  /** When parts of totals end, the next one last. */
  readonly #ends: { at: number; names: readonly string[]; part: Total }[] = [];

  /** Counts a refund from now on. */
  add({ paymentId, requester, currency, amount, createdAt, endedAt }: CountedRefund): void {
    const part = { count: 1, amount };
    const dayEndsAt = +createdAt + dayMs;
    const days = [organization, ofRequester(requester)];
    this.#add([ofPayment(paymentId)], part, endedAt === null ? null : +endedAt);
    this.#add(
      [...days, ...days.map((day) => inCurrency(day, currency))],
      part,
      endedAt === null ? dayEndsAt : Math.min(+endedAt, dayEndsAt),
    );
  }

  /** Counts refunds that are older than a day towards their payment. */
  addEarlier({ paymentId, count, amount, endedAt }: EarlierRefunds): void {
    this.#add([ofPayment(paymentId)], { count, amount }, endedAt === null ? null : +endedAt);
  }

  /** The facts about a refund that is created now, before it is added. */
  factsAt(
    now: Date,
    { paymentId, requester, currency }: CountedRefund,
  ): Pick<PolicyFacts, 'refunds' | 'velocity' | 'requesterVelocity'> {
    for (let next = this.#ends.at(-1); next !== undefined && next.at <= +now; next = this.#ends.at(-1)) {
      this.#ends.pop();
      this.#change(next.names, { count: -next.part.count, amount: -next.part.amount });
    }
    const velocityOf = (day: string): Velocity => ({
      refundsInLastDay: this.#total(day).count,
      amountInLastDay: this.#total(inCurrency(day, currency)).amount,
    });
    return {
      refunds: { ...this.#total(ofPayment(paymentId)), lastAt: null },
      velocity: velocityOf(organization),
      requesterVelocity: velocityOf(ofRequester(requester)),
    };
  }

  #total(name: string): Total {
    return this.#totals.get(name) ?? { count: 0, amount: 0n };
  }

  /** @param until when it ends, in milliseconds; null for never. */
  #add(names: readonly string[], part: Total, until: number | null): void {
    this.#change(names, part);
    if (until === null) return;
    // Most end after all others.
    const place = this.#ends.findIndex(({ at }) => at <= until);
    this.#ends.splice(place < 0 ? this.#ends.length : place, 0, { at: until, names, part });
  }

  #change(names: readonly string[], { count, amount }: Total): void {
    for (const name of names) {
      const total = this.#total(name);
      this.#totals.set(name, { count: total.count + count, amount: total.amount + amount });
    }
  }
}

const organization = 'organization';
const ofPayment = (id: bigint) => `payment ${id}`;
const ofRequester = (requester: string) => `requester ${requester}`;
const inCurrency = (day: string, currency: string) => `${day} in ${currency}`;
