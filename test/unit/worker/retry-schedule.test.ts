import { expect, test } from 'vitest';
import { retryDelayMs } from '#worker/deliver/retry-schedule.ts';

const seconds = 1_000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

test.each([
  [1, 5 * seconds],
  [2, 5 * minutes],
  [3, 30 * minutes],
  [4, 2 * hours],
  [5, 5 * hours],
  [6, 10 * hours],
  [7, 10 * hours],
])('retries after attempt %i in %i ms, or up to a tenth later', (attemptNumber, pauseMs) => {
  expect(retryDelayMs(attemptNumber, () => 0)).toBe(pauseMs);
  expect(retryDelayMs(attemptNumber, () => 0.5)).toBe(pauseMs * 1.05);
  expect(retryDelayMs(attemptNumber, () => 0.999_999)).toBeLessThanOrEqual(pauseMs * 1.1);
});

test.each([8, 9, 100])('does not retry after attempt %i', (attemptNumber) => {
  expect(retryDelayMs(attemptNumber, () => 0.5)).toBeNull();
});
