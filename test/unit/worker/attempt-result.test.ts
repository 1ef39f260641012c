import { expect, test } from 'vitest';
import { resultOf } from '#worker/deliver/attempt-result.ts';

const seconds = 1_000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

const pauseAfter = (attemptNumber: number, random: number) =>
  resultOf({ status: 500, body: Buffer.of(), error: null }, attemptNumber, () => random).retryInMs;

test.each([
  [1, 5 * seconds],
  [2, 5 * minutes],
  [3, 30 * minutes],
  [4, 2 * hours],
  [5, 5 * hours],
  [6, 10 * hours],
  [7, 10 * hours],
])('retries after attempt %i in %i ms, or up to a tenth later', (attemptNumber, pauseMs) => {
  expect(pauseAfter(attemptNumber, 0)).toBe(pauseMs);
  expect(pauseAfter(attemptNumber, 0.5)).toBe(pauseMs * 1.05);
});

test('does not retry after the eighth attempt', () => {
  expect(pauseAfter(8, 0.5)).toBeNull();
});
