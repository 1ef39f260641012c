import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryDelayMs, settlementDelayMs } from '#shared/refunds/model/backoff.ts';
import { canMove, checkMove, isTerminal, refundStatuses } from '#shared/refunds/model/states.ts';

describe('the state table', () => {
  test('leaves a terminal status only from completed to failed', () => {
    const exits = refundStatuses
      .filter(isTerminal)
      .flatMap((from) => refundStatuses.filter((to) => canMove(from, to)).map((to) => `${from} -> ${to}`));
    expect(exits).toEqual(['completed -> failed']);
  });

  test('never leads back to awaiting approval', () => {
    expect(refundStatuses.filter((from) => canMove(from, 'pending'))).toEqual([]);
  });

  test.each([
    ['pending', false],
    ['processing', false],
    ['completed', true],
    ['failed', true],
    ['cancelled', true],
  ] as const)('a %s refund has ended: %s', (status, ended) => {
    expect(isTerminal(status)).toBe(ended);
  });

  test('refuses a move that it does not have', () => {
    expect(() => checkMove('pending', 'processing')).not.toThrow();
    expect(() => checkMove('failed', 'processing')).toThrow('A refund cannot move from failed to processing');
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

  test('never end before Retry-After, up to a day', () => {
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

  test('grow between settlement checks', () => {
    const delays = [1, 2, 3, 4, 5, 20].map((count) => settlementDelayMs(count, settings, () => 0.5));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 60_000]);
  });
});
