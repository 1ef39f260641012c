import { describe, expect, test } from 'vitest';
import type { Settings } from '../../shared/config.ts';
import type { Refund } from '../../shared/db.ts';
import { lookupConclusiveAt } from '../../shared/refunds/model/lookup-proof.ts';

const second = 1_000;
const timeoutMs = 20 * second;
const sentAt = new Date('2026-11-20T10:00:00Z');
const endedAt = new Date('2026-11-20T10:00:07Z');

interface Attempt {
  processor: string;
  /** The processor replied, with an error that says nothing. */
  attemptAnswered?: boolean;
  attemptEndedAt?: Date | null;
  lastSentAt?: Date | null;
}

function conclusiveAt(attempt: Attempt, settleDelayMs?: number): Date {
  const settings = { PROCESSOR_TIMEOUT_MS: timeoutMs, LOOKUP_SETTLE_DELAY_MS: settleDelayMs } as Settings;
  const known = { attemptAnswered: false, attemptEndedAt: null, lastSentAt: sentAt, createdAt: sentAt };
  return lookupConclusiveAt(settings, { ...known, ...attempt } as Refund);
}

function later(moment: Date, ms: number): Date {
  return new Date(moment.getTime() + ms);
}

describe('a lookup that finds nothing proves that an attempt was not applied', () => {
  test.each([
    ['stripe', false, 10 * second],
    ['stripe', true, 60 * second],
    ['braintree', false, 60 * second],
    ['braintree', true, 60 * second],
  ])('at %s, which replied: %s, %i ms after its end', (processor, attemptAnswered, proofMs) => {
    expect(conclusiveAt({ processor, attemptAnswered, attemptEndedAt: endedAt })).toEqual(
      later(endedAt, proofMs),
    );
  });

  test.each([
    ['stripe', 10 * second],
    ['braintree', 60 * second],
  ])('at %s, when its worker died, %i ms after its lease', (processor, proofMs) => {
    const leaseMs = timeoutMs + 10 * second;
    expect(conclusiveAt({ processor })).toEqual(later(sentAt, leaseMs + proofMs));
    expect(conclusiveAt({ processor, lastSentAt: null })).toEqual(later(sentAt, leaseMs + proofMs));
  });

  test('after another time in tests alone, and from the same moments', () => {
    const attempt = { processor: 'braintree', attemptAnswered: true };
    expect(conclusiveAt({ ...attempt, attemptEndedAt: endedAt }, 5)).toEqual(later(endedAt, 5));
    expect(conclusiveAt(attempt, 5)).toEqual(later(sentAt, timeoutMs + 10 * second + 5));
  });
});
