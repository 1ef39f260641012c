import { expect, test } from 'vitest';
import { CallPace, limitedOperations, pauseMs } from '#shared/processors/accounts/rate-limits.ts';

test('calls come together for a fifth of a second, and then at the rate, each called thing apart', () => {
  const pace = new CallPace();
  const take = (called: string, nowMs: number) => pace.take(called, 20, nowMs, 100);
  expect(['a', 'a', 'a', 'a', 'a', 'a', 'a', 'b'].map((called) => take(called, 1_000))).toEqual([
    ...[0, 0, 0, 0, 50, 100, null, 0],
  ]);
  // What was refused has taken no call.
  expect(take('a', 1_050)).toBe(100);
  expect(take('a', 9_000)).toBe(0);
});

test('one call may always come, and without a limit all may', () => {
  const pace = new CallPace();
  expect([pace.take('slow', 2, 0, 0), pace.take('slow', 2, 0, 0), pace.take('slow', 2, 500, 0)]).toEqual([
    ...[0, null, 0],
  ]);
  for (let calls = 1; calls <= 100; calls += 1) expect(pace.take('unlimited', 0, 0, 0)).toBe(0);
});

test('a pause without Retry-After is short and random, and one with it is up to an hour', () => {
  expect([null, 0, 90_000, 86_400_000].map((asked) => pauseMs(asked, 0.5))).toEqual([
    ...[375, 0, 90_000, 3_600_000],
  ]);
});

test('an operation counts as limited while it is paused and until it has its whole rate again', () => {
  const at = (seconds: number) => new Date(1_000 * seconds);
  const noted = (pausedUntil: Date, slowedAt: Date) => ({
    ...{ pausedUntil: pausedUntil.toISOString(), slowedAt: slowedAt.toISOString(), slowedTo: 0.5 },
  });
  const rateLimits = { createRefund: noted(at(10), at(9)), getPayment: noted(at(3_600), at(0)) };
  const limited = (seconds: number) => limitedOperations({ rateLimits }, at(seconds));
  const paused = { operation: 'getPayment', pausedUntil: at(3_600), limitedUntil: at(3_600) };
  expect(limited(9)).toEqual([
    { operation: 'createRefund', pausedUntil: at(10), limitedUntil: at(69) },
    paused,
  ]);
  expect(limited(10)[0]).toMatchObject({ pausedUntil: null });
  expect(limited(69)).toEqual([paused]);
  expect(limited(3_600)).toEqual([]);
});
