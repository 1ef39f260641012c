import type { RefundEvent } from '../../../shared/platform/database.ts';
import { groupBy } from '../../support/group-by.ts';
import type { Violation } from '../../support/refunds/ledger-rules.ts';
import { leaseMs, settleDelayMs } from './settings.ts';

/** Events that only a later claim can write. */
const writtenByNextClaim: ReadonlySet<string> = new Set([
  'attempt.started',
  'lookup.absent',
  'lookup.inconclusive',
  'lookup.unanswered',
]);

/** How far the clocks of two processes may be apart. */
const clockToleranceMs = 100;

/** The latest attempt of a timeline so far. */
interface Attempt {
  started: RefundEvent;
  /** The event of its unknown outcome; null without one. */
  ended: RefundEvent | null;
  /** No event of a worker has followed. */
  isOpen: boolean;
  isFirst: boolean;
}

/**
 * Checks timelines against the times that keep workers apart. An attempt without a recorded outcome belongs to its worker
 * until its lease ends, also when the worker was killed. A lookup proves that an attempt never arrived only after the
 * settle delay since its end, which is the end of its lease when no outcome is recorded.
 */
export function waitingViolations(events: readonly RefundEvent[]): Violation[] {
  return [...groupBy(events, ({ refundId }) => refundId).values()].flatMap((timeline) => {
    let attempt: Attempt | null = null;
    const violations: Violation[] = [];
    for (const event of timeline) {
      const tooSoon = attempt === null ? null : problemOf(event, attempt);
      if (tooSoon !== null) violations.push({ kind: 'wrong', refundId: event.refundId, what: tooSoon });
      attempt = attemptAfter(event, attempt);
    }
    return violations;
  });
}

function attemptAfter(event: RefundEvent, attempt: Attempt | null): Attempt | null {
  if (event.type === 'attempt.started') {
    return { started: event, ended: null, isOpen: true, isFirst: attempt === null };
  }
  if (attempt === null || event.type === 'cancel.requested') return attempt;
  return { ...attempt, isOpen: false, ended: event.type === 'attempt.unknown' ? event : attempt.ended };
}

function problemOf(event: RefundEvent, attempt: Attempt): string | null {
  const tooSoon = (since: Date, limitMs: number, what: string) => {
    const apartMs = event.createdAt.getTime() - since.getTime();
    if (apartMs + clockToleranceMs >= limitMs) return null;
    return `${event.type} ${apartMs} ms after an attempt ${what} of ${limitMs} ms`;
  };
  // After a rejected attempt, a worker looks up an earlier one under the same lease.
  const isOfNextClaim =
    writtenByNextClaim.has(event.type) || (event.type === 'lookup.found' && attempt.isFirst);
  const { createdAt: startedAt } = attempt.started;
  const stolen =
    attempt.isOpen && isOfNextClaim ? tooSoon(startedAt, leaseMs, 'began, against a lease') : null;
  if (stolen !== null || event.type !== 'lookup.absent') return stolen;
  return attempt.ended === null
    ? tooSoon(startedAt, leaseMs + settleDelayMs, 'began, against a lease and a settle delay')
    : tooSoon(attempt.ended.createdAt, settleDelayMs, 'ended, against a settle delay');
}
