import { expect, test } from 'vitest';
import { type CountedRefund, PastTotals } from '#shared/insights/past-totals.ts';

const hour = 3_600_000;
const at = (hours: number) => new Date(hours * hour);

interface Made extends CountedRefund {
  createdAt: Date;
}

/** Refunds of two payments by two requesters, one every two hours; every third ends after a while, some after more than a day. */
const made: Made[] = Array.from({ length: 60 }, (_, index) => ({
  paymentId: BigInt(index % 2),
  requester: `key:${index % 3}`,
  currency: index % 5 === 0 ? 'eur' : 'usd',
  amount: BigInt(index + 1),
  createdAt: at(2 * index),
  endedAt: index % 3 === 0 ? at(2 * index + 1 + ((index * 7) % 40)) : null,
}));

/** The same from all refunds at once. */
function expectedAt(now: Date, { paymentId, requester, currency }: Made) {
  const live = made.filter((each) => each.createdAt < now && (each.endedAt === null || each.endedAt > now));
  const sum = (some: Made[]) => some.reduce((total, { amount }) => total + amount, 0n);
  const ofPayment = live.filter((each) => each.paymentId === paymentId);
  const ofDay = live.filter((each) => +each.createdAt > +now - 24 * hour);
  const velocity = (some: Made[]) => ({
    refundsInLastDay: some.length,
    amountInLastDay: sum(some.filter((each) => each.currency === currency)),
  });
  return {
    refunds: { count: ofPayment.length, amount: sum(ofPayment), lastAt: null },
    velocity: velocity(ofDay),
    requesterVelocity: velocity(ofDay.filter((each) => each.requester === requester)),
  };
}

test('totals of the past are those of the refunds that had neither failed nor been cancelled then', () => {
  const totals = new PastTotals();
  for (const refund of made) {
    expect(totals.factsAt(refund.createdAt, refund)).toEqual(expectedAt(refund.createdAt, refund));
    totals.add(refund);
  }
});

test('refunds from before count towards their payment until they end', () => {
  const totals = new PastTotals();
  const [refund] = made as [Made];
  const earlier = { paymentId: refund.paymentId, count: 2, amount: 7n };
  totals.addEarlier({ ...earlier, endedAt: null });
  totals.addEarlier({ ...earlier, endedAt: at(3) });
  const amountAt = (hours: number) => totals.factsAt(at(hours), refund).refunds;
  expect(amountAt(2)).toEqual({ count: 4, amount: 14n, lastAt: null });
  expect(amountAt(3)).toEqual({ count: 2, amount: 7n, lastAt: null });
  expect(totals.factsAt(at(3), refund).velocity.refundsInLastDay).toBe(0);
});
