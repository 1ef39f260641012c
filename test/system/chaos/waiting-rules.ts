import type { RefundEvent } from '../../../shared/platform/database.ts';
import { groupBy } from '../../support/group-by.ts';
import type { Violation } from '../../support/refunds/ledger-rules.ts';
import { leaseMs, settleDelayMs } from './settings.ts';

/** What only a worker can write that has claimed the refund after the attempt. */
const writtenByNextClaim: ReadonlySet<string> = new Set([
  'attempt.started',
  'lookup.absent',
  'lookup.inconclusive',
  'lookup.unanswered',
]);

/** How far the clocks of two processes, which both follow the database's, may be apart. */
const clockToleranceMs = 100;

/** The last attempt of a timeline as far as it has been read. */
interface Attempt {
  started: RefundEvent;
  /** What its worker wrote down of an unknown outcome; null while nobody has. */
  ended: RefundEvent | null;
  /** Nothing is on record since it began, but for what a client asked. */
  isOpen: boolean;
  isFirst: boolean;
}

/**
 * Holds timelines against the times that keep workers apart; all processes here have the same clock. An attempt whose
 * outcome is not on record belongs to its worker until the lease is over, whether or not that worker still lives; and
 * no lookup proves that an attempt never arrived before the settle delay has passed since its end. One whose outcome is
 * not on record ended with its lease at the latest.
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
  // A worker whose later attempt is turned down looks for an earlier one under the same lease.
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
