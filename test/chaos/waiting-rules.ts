import type { RefundEvent } from '../../shared/db.ts';
import { groupBy } from '../harness/group-by.ts';
import type { Violation } from '../harness/ledger-rules.ts';
import { leaseMs, settleDelayMs } from './settings.ts';

/** What only a worker can write that has claimed the refund after the attempt. */
const writtenByNextClaim: ReadonlySet<string> = new Set([
  'attempt.started',
  'lookup.absent',
  'lookup.inconclusive',
  'lookup.unanswered',
]);

/**
 * Holds timelines against the times that keep workers apart; all processes here have the same clock. An attempt whose
 * outcome is not on record belongs to its worker until the lease is over, whether or not that worker still lives; and
 * no lookup proves within the settle delay that an attempt never arrived.
 */
export function waitingViolations(events: readonly RefundEvent[]): Violation[] {
  return [...groupBy(events, ({ refundId }) => refundId).values()].flatMap((timeline) => {
    let attempts = 0;
    let started: RefundEvent | null = null;
    let isOpen = false;
    const violations: Violation[] = [];
    for (const event of timeline) {
      const tooSoon = started === null ? null : problemOf(event, started, isOpen, attempts);
      if (tooSoon !== null) violations.push({ kind: 'wrong', refundId: event.refundId, what: tooSoon });
      if (event.type === 'attempt.started') {
        attempts += 1;
        started = event;
      }
      if (event.type !== 'cancel.requested') isOpen = event.type === 'attempt.started';
    }
    return violations;
  });
}

function problemOf(
  event: RefundEvent,
  started: RefundEvent,
  isOpen: boolean,
  attempts: number,
): string | null {
  const apartMs = event.createdAt.getTime() - started.createdAt.getTime();
  const tell = (limit: string) => `${event.type} ${apartMs} ms after an attempt began, against ${limit}`;
  // A worker whose later attempt is turned down looks for an earlier one under the same lease.
  const isOfNextClaim =
    writtenByNextClaim.has(event.type) || (event.type === 'lookup.found' && attempts === 1);
  if (isOpen && isOfNextClaim && apartMs < leaseMs) return tell(`a lease of ${leaseMs} ms`);
  if (event.type === 'lookup.absent' && apartMs < settleDelayMs) {
    return tell(`a settle delay of ${settleDelayMs} ms`);
  }
  return null;
}
