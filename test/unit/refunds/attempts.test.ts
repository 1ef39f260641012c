import { describe, expect, test } from 'vitest';
import type { Settings } from '#shared/platform/config.ts';
import { lookupConclusiveAt } from '#shared/refunds/model/attempts.ts';

const second = 1_000;
const timeoutMs = 20 * second;
const startedAt = new Date('2026-11-20T10:00:00Z');
const endedAt = new Date('2026-11-20T10:00:07Z');

interface Case {
  processor: string;
  /** The last attempt without a recorded outcome: its worker died. */
  attemptStartedAt?: Date | null;
  isKeySpent?: boolean;
  unknownSince?: Date | null;
  /** `LOOKUP_SETTLE_DELAY_MS`. */
  settleDelayMs?: number;
}

function conclusiveAt({ processor, settleDelayMs, ...work }: Case): Date {
  const settings = { PROCESSOR_TIMEOUT_MS: timeoutMs, LOOKUP_SETTLE_DELAY_MS: settleDelayMs } as Settings;
  const nothing = { attemptStartedAt: null, isKeySpent: false, unknownSince: null };
  return lookupConclusiveAt(settings, { processor }, { ...nothing, ...work });
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
  ])('at %s, which replied: %s, %i ms after its end', (processor, isKeySpent, proofMs) => {
    expect(conclusiveAt({ processor, unknownSince: endedAt, isKeySpent })).toEqual(later(endedAt, proofMs));
  });

  test.each([
    ['stripe', 10 * second],
    ['braintree', 60 * second],
  ])('at %s, when its worker died, %i ms after its lease', (processor, proofMs) => {
    const leaseMs = timeoutMs + 10 * second;
    expect(conclusiveAt({ processor, attemptStartedAt: startedAt, unknownSince: startedAt })).toEqual(
      later(startedAt, leaseMs + proofMs),
    );
  });

  test.each([
    ['whose end is on record', null],
    ['whose worker died', startedAt],
  ])('not before that time has passed since a resync of one %s', (_which, attemptStartedAt) => {
    const unknownSince = later(endedAt, 3_600 * second);
    expect(conclusiveAt({ processor: 'stripe', attemptStartedAt, unknownSince })).toEqual(
      later(unknownSince, 10 * second),
    );
  });
});
