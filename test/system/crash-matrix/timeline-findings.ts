import type { RefundEvent } from '../../../shared/platform/database.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import type { RefundRecord } from '../../support/refunds/refund-records.ts';

/** The result of a check: null when the promise is kept, else the problem. */
export type Finding = string | null;

/** After these events an attempt is known to have moved no money, and another may follow. */
const nothingMoved = ['attempt.unavailable', 'attempt.misconfigured', 'lookup.absent'];
/** After these events the processor is known to have the refund. */
const atProcessor = ['attempt.accepted', 'lookup.found'];

/**
 * Checks that a timeline explains the state of its refund: it starts with the creation; only a review follows the end;
 * every attempt is counted; before each further attempt the previous one is known to have moved no money; a completed
 * refund is known to be at the processor; and no refund is cancelled or failed while an attempt may have succeeded.
 */
export function timelineFindings(refund: RefundRecord, events: readonly RefundEvent[]): Finding[] {
  const types = events.map(({ type }) => type);
  const attempts = types.filter((type) => type === 'attempt.started').length;
  return [
    unless(types[0] === 'refund.created', `starts with ${types[0]}`),
    unless(attempts === refund.attemptCount, `has ${attempts} attempts, the refund ${refund.attemptCount}`),
    ...afterEndFindings(events),
    ...attemptFindings(types),
    endFinding(refund, events),
  ];
}

function afterEndFindings(events: readonly RefundEvent[]): Finding[] {
  return events.slice(1).map((event, index) => {
    const before = events[index]?.status;
    if (before === undefined || !isTerminal(before)) return null;
    const isReview = event.type === 'review.flagged' || (before === 'completed' && event.status === 'failed');
    return unless(isReview, `goes on after its end: ${event.type} to ${event.status} after ${before}`);
  });
}

/** Between two attempts the first must be known to have moved no money. */
function attemptFindings(types: readonly string[]): Finding[] {
  const starts = types.flatMap((type, index) => (type === 'attempt.started' ? [index] : []));
  return starts.slice(1).map((start, index) => {
    const between = types.slice(starts[index], start);
    return unless(
      between.some((type) => nothingMoved.includes(type)) &&
        !between.some((type) => atProcessor.includes(type)),
      `sends again after ${between.join(', ')}`,
    );
  });
}

function endFinding({ status }: RefundRecord, events: readonly RefundEvent[]): Finding {
  const types = events.map(({ type }) => type);
  const sinceLastAttempt = types.slice(Math.max(0, types.lastIndexOf('attempt.started')));
  const has = (known: readonly string[]) => sinceLastAttempt.some((type) => known.includes(type));
  const end = events.find((event) => event.type === `refund.${status}`);
  const problem = `is ${status} after ${sinceLastAttempt.join(', ')}`;
  switch (status) {
    case 'completed':
      return unless(has(atProcessor), problem);
    case 'cancelled': {
      const wasSent = types.includes('attempt.started') && !has(nothingMoved);
      const { sent } = (end?.detail ?? {}) as { sent?: boolean };
      return unless(wasSent ? has(atProcessor) && sent !== false : sent === false, problem);
    }
    case 'failed':
      // A rejection has no event of its own, so that the end counts, unless the outcome is unknown.
      return unless(
        (end !== undefined && !sinceLastAttempt.includes('attempt.unknown')) ||
          has([...nothingMoved, ...atProcessor]),
        problem,
      );
    default:
      return `still ${problem}`;
  }
}

export function unless(isKept: boolean, problem: string): Finding {
  return isKept ? null : problem;
}
