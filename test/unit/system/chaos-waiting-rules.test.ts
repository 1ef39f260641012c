import { describe, expect, test } from 'vitest';
import type { RefundEvent } from '../../../shared/platform/database.ts';
import { leaseMs, settleDelayMs } from '../../system/chaos/settings.ts';
import { waitingViolations } from '../../system/chaos/waiting-rules.ts';

const beganAt = Date.parse('2026-11-20T10:00:00Z');
const callMs = 2_000;

type Step = [type: string, afterMs: number];

/** A timeline, with the times since its first attempt began. */
function timeline(...steps: Step[]): RefundEvent[] {
  return steps.map(([type, afterMs], index) => {
    const createdAt = new Date(beganAt + afterMs);
    return { refundId: 'ref_1', seq: index + 1, type, createdAt, detail: {} } as unknown as RefundEvent;
  });
}

const started: Step = ['attempt.started', 0];
const unknown: Step = ['attempt.unknown', callMs];
const died = leaseMs + settleDelayMs;

describe('waitingViolations', () => {
  test.each<[string, ...Step[]]>([
    [
      'a lookup that is proof from the end of an attempt on',
      started,
      unknown,
      ['lookup.absent', callMs + settleDelayMs],
    ],
    ['one that is proof after a worker died', started, ['lookup.absent', died]],
    ['one that finds a refund at once', started, unknown, ['lookup.found', callMs + 3_100]],
    ['a claim after the lease', started, ['lookup.inconclusive', leaseMs], ['lookup.absent', died]],
  ])('let pass %s', (_what, ...steps) => {
    expect(waitingViolations(timeline(...steps))).toEqual([]);
  });

  test.each<[string, ...Step[]]>([
    ['proof too soon after the end of an attempt', started, unknown, ['lookup.absent', settleDelayMs + 500]],
    [
      'proof too soon after a worker died',
      started,
      ['lookup.inconclusive', leaseMs],
      ['lookup.absent', died - 500],
    ],
    ['a lease that is stolen', started, ['lookup.unanswered', leaseMs - 500]],
    [
      'a lease that is stolen after a client cancelled',
      started,
      ['cancel.requested', 50],
      ['attempt.started', 100],
    ],
  ])('notice %s', (_what, ...steps) => {
    expect(waitingViolations(timeline(...steps))).toHaveLength(1);
  });
});
