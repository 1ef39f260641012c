import { expect, test } from 'vitest';
import { resultOf } from '#worker/deliver/attempt-result.ts';

const seconds = 1_000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

const now = new Date('2026-11-24T12:00:00.250Z');

const pauseAfter = (
  attemptNumber: number,
  random: number,
  status = 500,
  retryAfter: string | null = null,
) => {
  const reply = { status, body: Buffer.of(), retryAfter, error: null };
  return resultOf(reply, attemptNumber, now, () => random).retryInMs;
};

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

test.each([
  ['120', 1, 120 * seconds],
  [' 120 ', 1, 120 * seconds],
  // Later than it says, but never earlier.
  ['120', 2, 5 * minutes],
  ['0', 1, 5 * seconds],
  ['Tue, 24 Nov 2026 12:10:00 GMT', 1, 10 * minutes - 250],
  ['Tue, 24 Nov 2026 11:00:00 GMT', 1, 5 * seconds],
  // No longer than the schedule goes on.
  ['864000', 6, 20 * hours],
  ['864000', 7, 10 * hours],
  ['9'.repeat(400), 7, 10 * hours],
  // None.
  ['soon', 1, 5 * seconds],
  ['-120', 1, 5 * seconds],
  ['1.5e3', 1, 5 * seconds],
  ['2027', 7, 10 * hours],
  ['Tue, 99 Nov 2026 12:10:00 GMT', 1, 5 * seconds],
  [null, 1, 5 * seconds],
])(
  'waits after 429 and 503 with Retry-After: %s in attempt %i for %i ms',
  (header, attemptNumber, pauseMs) => {
    for (const status of [429, 503]) expect(pauseAfter(attemptNumber, 0, status, header)).toBe(pauseMs);
    expect(pauseAfter(attemptNumber, 0.5, 429, header)).toBe(Math.round(pauseMs * 1.05));
  },
);

test('no Retry-After of another status, or after the last attempt, changes the schedule', () => {
  expect(pauseAfter(1, 0, 500, '120')).toBe(5 * seconds);
  expect(pauseAfter(8, 0, 429, '120')).toBeNull();
});
