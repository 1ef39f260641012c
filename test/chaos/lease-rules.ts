import type { RefundEvent } from '../../shared/db.ts';
import { groupBy } from '../harness/group-by.ts';
import type { Violation } from '../harness/ledger-rules.ts';
import { leaseMs } from './settings.ts';

/** What only a worker can write that has claimed the refund after the attempt. */
const writtenByNextClaim: ReadonlySet<string> = new Set([
  'attempt.started',
  'lookup.absent',
  'lookup.inconclusive',
  'lookup.unanswered',
]);

/**
 * An attempt whose outcome is not on record belongs to its worker until the lease is over, whether or not that worker
 * still lives. All processes here have the same clock, so the times in the timeline tell.
 */
export function leaseViolations(events: readonly RefundEvent[]): Violation[] {
  const timelines = groupBy(events, ({ refundId }) => refundId).values();
  return [...timelines].flatMap((timeline) => {
    const byWorkers = timeline.filter(({ type }) => type !== 'cancel.requested');
    return byWorkers.flatMap((event, index) => {
      const before = byWorkers[index - 1];
      if (before?.type !== 'attempt.started' || !writtenByNextClaim.has(event.type)) return [];
      const apartMs = event.createdAt.getTime() - before.createdAt.getTime();
      if (apartMs >= leaseMs) return [];
      const what = `${event.type} ${apartMs} ms after an attempt whose lease is ${leaseMs} ms`;
      return [{ kind: 'wrong', refundId: event.refundId, what } satisfies Violation];
    });
  });
}
