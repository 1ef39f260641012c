import type { RefundEvent } from '#shared/platform/database.ts';
import { attemptsOf } from '#shared/refunds/model/attempts.ts';
import { groupBy } from '../../support/group-by.ts';
import type { Violation } from '../../support/refunds/ledger-rules.ts';
import { leaseMs, settleDelayMs } from './settings.ts';

/** Events of a lookup that only a later claim than that of the attempt can write. */
const writtenByNextClaim: ReadonlySet<string> = new Set([
  'lookup.absent',
  'lookup.inconclusive',
  'lookup.unanswered',
]);

/** How far the clocks of two processes may be apart. */
const clockToleranceMs = 100;

/**
 * Checks timelines against the times that keep workers apart. An attempt without a recorded outcome belongs to its worker
 * until its lease ends, also when the worker was killed. A lookup proves that an attempt never arrived only after the
 * settle delay since its end, which is the end of its lease when no outcome is recorded. No attempt follows before the outcome
 * of the last one is in the timeline.
 */
export function waitingViolations(events: readonly RefundEvent[]): Violation[] {
  return [...groupBy(events, ({ refundId }) => refundId).entries()].flatMap(([refundId, timeline]) =>
    timeline
      .flatMap((event, index) => problemsOf(event, timeline.slice(0, index)))
      .map((what) => ({ kind: 'wrong' as const, refundId, what })),
  );
}

function problemsOf(event: RefundEvent, before: readonly RefundEvent[]): string[] {
  const [attempt] = attemptsOf([event], null);
  if (attempt === undefined) {
    const unknown = before.findLast(({ type }) => type === 'attempt.unknown');
    if (unknown === undefined || event.type !== 'lookup.absent') return [];
    return tooSoon(event, unknown.createdAt, settleDelayMs, 'ended, against a settle delay');
  }
  const expected = attemptsOf(before, null).length + 1;
  const skipped =
    attempt.number === expected ? [] : [`attempt ${expected} has no outcome, and ${attempt.number} followed`];
  return [...skipped, ...theftsOf(event, before, attempt)];
}

/** Lookups during the lease of an attempt whose worker recorded no outcome. */
function theftsOf(
  event: RefundEvent,
  before: readonly RefundEvent[],
  { number, startedAt }: { number: number; startedAt: string },
): string[] {
  const since = new Date(startedAt);
  const lookups = before.filter(({ type, createdAt }) => writtenByNextClaim.has(type) && createdAt > since);
  const stolen = lookups.flatMap((each) => tooSoon(each, since, leaseMs, 'began, against a lease'));
  if (event.type === 'lookup.absent') {
    const limitMs = leaseMs + settleDelayMs;
    stolen.push(...tooSoon(event, since, limitMs, 'began, against a lease and a settle delay'));
  }
  // After a rejected attempt, a worker looks up an earlier one under the same lease.
  if (event.type === 'lookup.found' && number === 1) {
    stolen.push(...tooSoon(event, since, leaseMs, 'began, against a lease'));
  }
  return stolen;
}

function tooSoon({ type, createdAt }: RefundEvent, since: Date, limitMs: number, what: string): string[] {
  const apartMs = createdAt.getTime() - since.getTime();
  if (apartMs + clockToleranceMs >= limitMs) return [];
  return [`${type} ${apartMs} ms after an attempt ${what} of ${limitMs} ms`];
}
