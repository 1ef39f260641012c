import { expect, test } from 'vitest';
import { isDue } from '#shared/reconciliation/runs.ts';

const day = 86_400_000;

const now = new Date('2026-06-30T12:00:00Z');
const ago = (ms: number) => new Date(now.getTime() - ms);
const run = (changes: Partial<NonNullable<Parameters<typeof isDue>[0]>>) => ({
  startedAt: ago(2 * day),
  finishedAt: ago(2 * day),
  failure: null,
  claimedUntil: null,
  ...changes,
});
const failed = { failure: 'no answer' };

test.each([
  ['never compared', true, null],
  ['compared a day ago', true, run({ startedAt: ago(day), finishedAt: ago(day - 60_000) })],
  ['compared less than a day ago', false, run({ startedAt: ago(day - 1), finishedAt: ago(day - 1) })],
  ['failed a quarter of an hour ago', true, run({ ...failed, finishedAt: ago(900_000) })],
  ['failed just now', false, run({ ...failed, finishedAt: ago(899_999) })],
  ['under way', false, run({ finishedAt: null, claimedUntil: ago(-1) })],
  ['left behind', true, run({ finishedAt: null, claimedUntil: ago(0) })],
])('%s, an account is due: %s', (_, due, last) => {
  expect(isDue(last, now, { RECONCILIATION_INTERVAL_MS: day })).toBe(due);
  expect(isDue(last, now, { RECONCILIATION_INTERVAL_MS: 0 })).toBe(false);
});
