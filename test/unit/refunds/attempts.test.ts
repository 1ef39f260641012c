import { expect, test } from 'vitest';
import { attemptsOf } from '#shared/refunds/model/attempts.ts';

const startedAt = new Date('2026-11-20T10:00:00Z');
const ended = { number: 1, startedAt: '2026-11-20T09:00:00.000Z', outcome: 'unknown' };
const events = [{ detail: null }, { detail: {} }, { detail: { attempt: ended } }, { detail: { sent: true } }];

test('the attempts of a refund are those of its timeline, and then the open one without an outcome', () => {
  const open = { number: 2, startedAt: startedAt.toISOString(), outcome: null };
  expect(attemptsOf(events, { attemptNumber: 2, attemptStartedAt: startedAt })).toEqual([ended, open]);
});

test.each([
  ['no work', null],
  ['work without an open attempt', { attemptNumber: 1, attemptStartedAt: null }],
])('a refund with %s has no open attempt', (_what, work) => {
  expect(attemptsOf(events, work)).toEqual([ended]);
});
