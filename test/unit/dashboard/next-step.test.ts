import { expect, test } from 'vitest';
import { nextStep } from '#api/dashboard/pages/refunds/next-step.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { waitingOf } from '#shared/refunds/model/waiting.ts';

const now = new Date('2026-11-20T10:00:00.000Z');
const inMs = (ms: number) => new Date(now.getTime() + ms);
const work = {
  ...{ dueAt: inMs(12_000), leasedUntil: null, unknownSince: null, approvalRequestedAt: null },
  ...{ waitingFor: null, waitingSince: inMs(-60_000), waitingUntil: null },
};
const since = 'since 2026-11-20T09:59:00.000Z';
const waits = (waitingFor: string, more: object = {}) => ({
  status: 'processing',
  work: { ...work, waitingFor, ...more },
});
const there = { externalRefundId: 're_1', acceptedAt: now };

test.each<[refund: object, words: string | null]>([
  [{ status: 'pending', work }, null],
  [{ status: 'processing', work }, 'It is sent to Stripe as soon as a worker is free.'],
  [
    {
      status: 'processing',
      work: { ...work, attemptStartedAt: now, leasedUntil: inMs(1), unknownSince: now },
    },
    'Being sent to Stripe.',
  ],
  [
    { status: 'processing', heldUntil: inMs(118_000), work },
    'Held by a policy. Sent to Stripe in 1 min 58 s. Until then it can be cancelled.',
  ],
  [waits('processor_unreachable'), `Waiting for Stripe's answer ${since}. Next attempt in 12 s.`],
  [waits('processor_unreachable', { dueAt: now }), `Waiting for Stripe's answer ${since}.`],
  [
    { ...waits('processor_unreachable'), ...there },
    `Waiting for Stripe's answer ${since}. Next check in 12 s.`,
  ],
  [waits('rate_limited'), `Waiting for Stripe to take more requests ${since}. Next attempt in 12 s.`],
  [waits('credentials'), `Waiting for Stripe credentials that permit it ${since}. Next attempt in 12 s.`],
  [waits('insufficient_balance'), `Waiting for funds in your Stripe balance ${since}. Next attempt in 12 s.`],
  [{ ...waits('insufficient_balance'), ...there }, `Waiting for funds in your Stripe balance ${since}.`],
  [waits('payment_unsettled'), `Waiting for the payment to settle ${since}. Next attempt in 12 s.`],
  [
    { ...waits('customer_action', { waitingUntil: inMs(14 * 86_400_000) }), ...there },
    `Waiting for the customer to enter bank details ${since}; the request expires on 4 December 2026.`,
  ],
  [
    waits('unknown_outcome', { unknownSince: now }),
    `Looking up whether Stripe has it ${since}. Next lookup in 12 s.`,
  ],
  [
    { status: 'processing', work: { ...work, approvalRequestedAt: inMs(-60_000), unknownSince: now } },
    `Awaiting approval by a reviewer in Stripe ${since}.`,
  ],
  [{ ...waits('settlement'), ...there }, 'Stripe has it; the bank usually shows it by 4 December 2026.'],
  [{ ...waits('settlement'), ...there, arrival: { kind: 'reversal' } }, 'Stripe has it.'],
  [
    { status: 'processing', externalRefundId: 're_1', work: { ...work, cancelRequestedAt: now } },
    'Cancellation requested. Stripe has not confirmed it yet. Next request in 12 s.',
  ],
  [
    { status: 'completed', completedAt: now, acceptedAt: now },
    'Stripe sent it to the bank, which usually shows it by 4 December 2026.',
  ],
  [
    { status: 'completed', completedAt: inMs(-30 * 86_400_000), acceptedAt: null },
    'Stripe sent it to the bank, which should have shown it by 4 November 2026.',
  ],
])('says what happens next: %o', (state, words) => {
  const none = {
    heldUntil: null,
    work: null,
    externalRefundId: null,
    acceptedAt: null,
    completedAt: null,
    arrival: null,
  };
  const refund = { processor: 'stripe', createdAt: now, ...none, ...state } as unknown as RefundWithWork;
  const waiting = waitingOf(refund, refund.work, null, now);
  expect(nextStep({ refund, waiting, isUncertain: false, now })).toBe(words);
});

test('says since when nothing is sent until a recovery', () => {
  const refund = { status: 'processing', processor: 'stripe', work } as unknown as RefundWithWork;
  const waiting = waitingOf(refund, refund.work, inMs(-60_000), now);
  expect(nextStep({ refund, waiting, isUncertain: false, now })).toBe(
    `Waiting for the recovery after a restore ${since}. Nothing is sent until it has run.`,
  );
});
