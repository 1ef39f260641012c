import { describe, expect, test } from 'vitest';
import type { RefundEvent } from '#shared/platform/database.ts';
import { leaseMs, settleDelayMs } from '../../system/chaos/settings.ts';
import { waitingViolations } from '../../system/chaos/waiting-rules.ts';

const beganAt = Date.parse('2026-11-20T10:00:00Z');
const callMs = 2_000;

type Step = [type: string, afterMs: number, attempt?: { number: number; startedMs: number }];

/** A timeline, with the times since its first attempt began. */
function timeline(...steps: Step[]): RefundEvent[] {
  return steps.map(([type, afterMs, attempt], index) => {
    const createdAt = new Date(beganAt + afterMs);
    const detail = attempt === undefined ? {} : { attempt: attemptOf(attempt) };
    return { refundId: 'ref_1', seq: index + 1, type, createdAt, detail } as unknown as RefundEvent;
  });
}

function attemptOf({ number, startedMs }: { number: number; startedMs: number }) {
  return { number, startedAt: new Date(beganAt + startedMs).toISOString(), outcome: 'unknown' };
}

const first = { number: 1, startedMs: 0 };
const unknown: Step = ['attempt.unknown', callMs, first];
const died = leaseMs + settleDelayMs;

describe('waitingViolations', () => {
  test.each<[string, ...Step[]]>([
    [
      'a lookup that is proof from the end of an attempt on',
      unknown,
      ['lookup.absent', callMs + settleDelayMs],
    ],
    ['one that is proof after a worker died', ['lookup.absent', died, first]],
    ['one that finds a refund at once', unknown, ['lookup.found', callMs + 3_100]],
    ['a claim after the lease', ['lookup.inconclusive', leaseMs], ['lookup.absent', died, first]],
    [
      'a further attempt at the moment of the proof',
      ['lookup.absent', died, first],
      ['attempt.unknown', died + callMs, { number: 2, startedMs: died }],
    ],
  ])('let pass %s', (_what, ...steps) => {
    expect(waitingViolations(timeline(...steps))).toEqual([]);
  });

  test.each<[string, ...Step[]]>([
    ['proof too soon after the end of an attempt', unknown, ['lookup.absent', settleDelayMs + 500]],
    [
      'proof too soon after a worker died',
      ['lookup.inconclusive', leaseMs],
      ['lookup.absent', died - 500, first],
    ],
    ['a lease that is stolen', ['lookup.unanswered', leaseMs - 500], ['lookup.absent', died, first]],
    ['a lease that is stolen by a lookup that finds the refund', ['lookup.found', leaseMs - 500, first]],
    [
      'a lease that is stolen after a client cancelled',
      ['cancel.requested', 50],
      ['attempt.unknown', callMs, { number: 2, startedMs: 100 }],
    ],
  ])('notice %s', (_what, ...steps) => {
    expect(waitingViolations(timeline(...steps))).toHaveLength(1);
  });
});
