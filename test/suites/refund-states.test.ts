import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryDelayMs, settlementDelayMs } from '../../shared/refunds/model/backoff.ts';
import {
  canMove,
  holdsReservation,
  initialStatus,
  isTerminal,
  type RefundStatus,
  refundStatuses,
  transitions,
} from '../../shared/refunds/model/states.ts';
import { nextStep, type RefundSituation } from '../../shared/refunds/next-step.ts';

describe('the state table', () => {
  test('leads only to statuses that exist', () => {
    const targets = Object.values(transitions).flatMap((moves) => Object.keys(moves));
    expect(targets.filter((target) => !refundStatuses.includes(target as RefundStatus))).toEqual([]);
    expect(Object.keys(transitions).toSorted()).toEqual([...refundStatuses].toSorted());
  });

  test('reaches every status from where refunds start', () => {
    const reached = new Set<RefundStatus>([initialStatus(false), initialStatus(true)]);
    for (const status of reached) {
      for (const target of Object.keys(transitions[status])) reached.add(target as RefundStatus);
    }
    expect([...reached].toSorted()).toEqual([...refundStatuses].toSorted());
  });

  test('leaves a terminal status only from completed to failed', () => {
    const exits = refundStatuses
      .filter(isTerminal)
      .flatMap((from) => refundStatuses.filter((to) => canMove(from, to)).map((to) => `${from} -> ${to}`));
    expect(exits).toEqual(['completed -> failed']);
  });

  test('never sends a refund back to where a person has to approve it', () => {
    expect(refundStatuses.filter((from) => canMove(from, 'pending'))).toEqual([]);
  });

  test.each([
    ['pending', true],
    ['processing', true],
    ['completed', true],
    ['failed', false],
    ['cancelled', false],
  ] as const)('a %s refund counts against the payment: %s', (status, holds) => {
    expect(holdsReservation(status)).toBe(holds);
  });
});

describe('the next step of a refund', () => {
  const now = new Date('2026-11-20T10:00:00Z');
  const fresh: RefundSituation = {
    status: 'processing',
    externalRefundId: null,
    unknownSince: null,
    cancelRequestedAt: null,
    transactionVerified: true,
    reviewDue: false,
  };

  test.each<[string, Partial<RefundSituation>, ReturnType<typeof nextStep>]>([
    ['is sent when it was never sent', {}, 'send'],
    ['is verified first when its payment could not be read', { transactionVerified: false }, 'verify'],
    ['is looked up when an attempt is unknown', { unknownSince: now }, 'find'],
    [
      'is looked up before a cancellation when an attempt is unknown',
      { unknownSince: now, cancelRequestedAt: now },
      'find',
    ],
    ['is cancelled at once when it surely is not at the processor', { cancelRequestedAt: now }, 'cancel'],
    ['is checked once the processor has it', { externalRefundId: 're_1' }, 'check'],
    [
      'is asked back when the processor has it',
      { externalRefundId: 're_1', cancelRequestedAt: now },
      'ask-cancellation',
    ],
    ['rests while a person has to approve it', { status: 'pending' }, 'nothing'],
    ['rests when completed', { status: 'completed', externalRefundId: 're_1' }, 'nothing'],
    ['rests when failed', { status: 'failed' }, 'nothing'],
    ['rests when cancelled', { status: 'cancelled' }, 'nothing'],
    ['is read again when it completed and there is news', { status: 'completed', reviewDue: true }, 'review'],
    ['is read again when it failed and there is news', { status: 'failed', reviewDue: true }, 'review'],
    [
      'is checked as ever when there is news before its end',
      { externalRefundId: 're_1', reviewDue: true },
      'check',
    ],
    ['is looked up when it was believed unsent and there is news', { reviewDue: true }, 'find'],
    ['has no news while a person has to approve it', { status: 'pending', reviewDue: true }, 'nothing'],
  ])('%s', (_promise, situation, step) => {
    expect(nextStep({ ...fresh, ...situation })).toBe(step);
  });

  test('never sends while an attempt is unknown, a cancellation is asked, or the processor has it', () => {
    const situations = fc.record({
      status: fc.constantFrom(...refundStatuses),
      externalRefundId: fc.constantFrom(null, 're_1'),
      unknownSince: fc.constantFrom(null, now),
      cancelRequestedAt: fc.constantFrom(null, now),
      transactionVerified: fc.boolean(),
      reviewDue: fc.boolean(),
    });
    fc.assert(
      fc.property(situations, (situation) => {
        const sendable =
          situation.status === 'processing' &&
          situation.externalRefundId === null &&
          situation.unknownSince === null &&
          situation.cancelRequestedAt === null &&
          !situation.reviewDue &&
          situation.transactionVerified;
        expect(nextStep(situation) === 'send').toBe(sendable);
      }),
    );
  });
});

describe('pauses', () => {
  const settings = { baseMs: 1_000, capMs: 60_000 };

  test.each([
    [1, 100, 1_000],
    [2, 200, 2_000],
    [4, 800, 8_000],
    [7, 6_000, 60_000],
    [50, 6_000, 60_000],
  ])('the retry after %i failures comes within %i to %i ms', (failures, least, most) => {
    expect(retryDelayMs(failures, settings, () => 0)).toBe(least);
    expect(retryDelayMs(failures, settings, () => 0.999999)).toBeLessThanOrEqual(most);
  });

  test('a retry never comes before Retry-After, which is believed up to a day', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 0, max: 1e12 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, retryAfterMs, random) => {
          const delay = retryDelayMs(failures, settings, () => random, retryAfterMs);
          const day = 24 * 60 * 60 * 1000;
          expect(delay).toBeGreaterThanOrEqual(Math.min(retryAfterMs, day));
          expect(delay).toBeLessThanOrEqual(Math.max(day, settings.capMs) + settings.baseMs);
        },
      ),
    );
  });

  test('refunds that failed together are spread over the whole pause', () => {
    const delays = Array.from({ length: 100 }, (_, index) => retryDelayMs(5, settings, () => index / 100));
    expect(new Set(delays).size).toBe(100);
  });

  test('settlement is asked for at a growing distance', () => {
    const delays = [1, 2, 3, 4, 5, 20].map((count) => settlementDelayMs(count, settings, () => 0.5));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 60_000]);
  });
});
