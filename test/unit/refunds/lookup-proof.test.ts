import { describe, expect, test } from 'vitest';
import type { Settings } from '../../../shared/platform/config.ts';
import { lookupConclusiveAt } from '../../../shared/refunds/model/lookup-proof.ts';

const second = 1_000;
const timeoutMs = 20 * second;
const startedAt = new Date('2026-11-20T10:00:00Z');
const endedAt = new Date('2026-11-20T10:00:07Z');

type LastAttempt = Parameters<typeof lookupConclusiveAt>[3];

/** An attempt whose worker died, unless told otherwise. */
function attempt(changes: Partial<NonNullable<LastAttempt>> = {}): LastAttempt {
  return { startedAt, endedAt: null, keySpent: false, ...changes };
}

interface Case {
  processor: string;
  last: LastAttempt;
  /** When its outcome became unknown; its start by default. */
  unknownSince?: Date | null;
  /** `LOOKUP_SETTLE_DELAY_MS`. */
  settleDelayMs?: number;
}

function conclusiveAt({ processor, last, unknownSince = startedAt, settleDelayMs }: Case): Date {
  const settings = { PROCESSOR_TIMEOUT_MS: timeoutMs, LOOKUP_SETTLE_DELAY_MS: settleDelayMs } as Settings;
  return lookupConclusiveAt(settings, { processor }, { unknownSince }, last);
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
  ])('at %s, which replied: %s, %i ms after its end', (processor, keySpent, proofMs) => {
    expect(conclusiveAt({ processor, last: attempt({ endedAt, keySpent }) })).toEqual(
      later(endedAt, proofMs),
    );
  });

  test.each([
    ['stripe', 10 * second],
    ['braintree', 60 * second],
  ])('at %s, when its worker died, %i ms after its lease', (processor, proofMs) => {
    const leaseMs = timeoutMs + 10 * second;
    expect(conclusiveAt({ processor, last: attempt() })).toEqual(later(startedAt, leaseMs + proofMs));
  });

  test.each([
    ['whose end is on record', attempt({ endedAt })],
    ['whose worker died', attempt()],
    ['that was never made', null],
  ])('not before that time has passed since the outcome became unknown of one %s', (_which, last) => {
    const unknownSince = later(endedAt, 3_600 * second);
    expect(conclusiveAt({ processor: 'stripe', last, unknownSince })).toEqual(
      later(unknownSince, 10 * second),
    );
  });

  test('not earlier when the outcome was unknown before the attempt', () => {
    const last = attempt({ endedAt });
    const proof = later(endedAt, 10 * second);
    for (const unknownSince of [null, later(startedAt, -3_600 * second)]) {
      expect(conclusiveAt({ processor: 'stripe', last, unknownSince })).toEqual(proof);
    }
  });

  test('after another time in tests', () => {
    const short = { processor: 'braintree', settleDelayMs: 5 };
    expect(conclusiveAt({ ...short, last: attempt({ endedAt, keySpent: true }) })).toEqual(later(endedAt, 5));
    expect(conclusiveAt({ ...short, last: attempt({ keySpent: true }) })).toEqual(
      later(startedAt, timeoutMs + 10 * second + 5),
    );
  });
});
