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
  unknownSince?: Date | null;
  serverErrorAt?: Date | null;
  /** `LOOKUP_SETTLE_DELAY_MS`. */
  settleDelayMs?: number;
}

function conclusiveAt({ processor, settleDelayMs, ...work }: Case): Date {
  const settings = { PROCESSOR_TIMEOUT_MS: timeoutMs, LOOKUP_SETTLE_DELAY_MS: settleDelayMs } as Settings;
  const nothing = { attemptStartedAt: null, unknownSince: null, serverErrorAt: null };
  return lookupConclusiveAt(settings, { processor }, { ...nothing, ...work });
}

function later(moment: Date, ms: number): Date {
  return new Date(moment.getTime() + ms);
}

describe('a lookup that finds nothing proves that an attempt was not applied', () => {
  // A cancellation or the retry deadline may follow, which no idempotency key protects.
  test.each([
    ['stripe', 90],
    ['braintree', 60],
  ])('at %s, %i seconds after its end', (processor, seconds) => {
    expect(conclusiveAt({ processor, unknownSince: endedAt })).toEqual(later(endedAt, seconds * second));
  });

  test.each([
    ['stripe', 90],
    ['braintree', 60],
  ])('at %s, when its worker died, %i seconds after its lease', (processor, seconds) => {
    const leaseMs = timeoutMs + 10 * second;
    expect(conclusiveAt({ processor, attemptStartedAt: startedAt, unknownSince: startedAt })).toEqual(
      later(startedAt, leaseMs + seconds * second),
    );
  });

  test('at stripe, a day after a server error, however often it was read again since', () => {
    const unknownSince = later(endedAt, 20 * 3_600 * second);
    expect(conclusiveAt({ processor: 'stripe', unknownSince, serverErrorAt: endedAt })).toEqual(
      later(endedAt, 24 * 3_600 * second),
    );
  });

  test.each([
    ['whose end is on record', null],
    ['whose worker died', startedAt],
  ])('not before that time has passed since a resync of one %s', (_which, attemptStartedAt) => {
    const unknownSince = later(endedAt, 3_600 * second);
    expect(conclusiveAt({ processor: 'stripe', attemptStartedAt, unknownSince })).toEqual(
      later(unknownSince, 90 * second),
    );
  });
});
