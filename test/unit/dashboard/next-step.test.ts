import { expect, test } from 'vitest';
import { nextStep } from '#api/dashboard/pages/refunds/next-step.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';

const now = new Date('2026-11-20T10:00:00.000Z');
const inMs = (ms: number) => new Date(now.getTime() + ms);
const work = { dueAt: inMs(12_000), retryingSince: null, flagReason: null, flaggedAt: null };

test.each<[refund: object, words: string | null]>([
  [{ status: 'pending', work }, null],
  [{ status: 'processing', work }, 'It is sent to Stripe as soon as a worker is free.'],
  [
    { status: 'processing', heldUntil: inMs(118_000), work },
    'Held by a policy. Sent to Stripe in 1 min 58 s, unless it is cancelled.',
  ],
  [
    { status: 'processing', work: { ...work, retryingSince: now } },
    'Next attempt in 12 s, because the last request to Stripe got no result.',
  ],
  [
    { status: 'processing', work: { ...work, isKeySpent: true } },
    'Stripe refunds it once the payment has settled. Next attempt in 12 s.',
  ],
  [
    {
      status: 'processing',
      work: { ...work, attemptStartedAt: now, leasedUntil: inMs(1), unknownSince: now },
    },
    'Being sent to Stripe.',
  ],
  [
    { status: 'processing', work: { ...work, attemptStartedAt: now, leasedUntil: now } },
    'Sent, and Stripe may have it. Next lookup in 12 s.',
  ],
  [
    { status: 'processing', work: { ...work, unknownSince: now, retryingSince: now, dueAt: now } },
    'Sent, and Stripe may have it. Next lookup now, because the last request to Stripe got no result.',
  ],
  [
    { status: 'processing', work: { ...work, unknownSince: now, dueAt: null } },
    'Sent, and Stripe may have it. Nothing happens until the flag is resolved.',
  ],
  [
    { status: 'processing', externalRefundId: 're_1', acceptedAt: now, work },
    'Stripe has it; the bank usually shows it by 4 December 2026.',
  ],
  [
    {
      status: 'processing',
      ...{ externalRefundId: 're_1', acceptedAt: now, processorStatus: 'requires_action', work },
    },
    "Stripe has it, and waits for the customer's bank details.",
  ],
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
  const refund = { processor: 'stripe', ...none, ...state } as unknown as RefundWithWork;
  expect(nextStep(refund, false, now)).toBe(words);
});
