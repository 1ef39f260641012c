import type { RefundEvent } from '../../../shared/platform/database.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import type { RefundRecord } from '../../support/refunds/refund-records.ts';

/** A promise that was looked at: null when it is kept, else what is wrong. */
export type Finding = string | null;

/** After these an attempt is known to have moved nothing, and another one may be made. */
const nothingMoved = ['attempt.unavailable', 'attempt.misconfigured', 'lookup.absent'];
/** After these the processor is known to have the refund. */
const atProcessor = ['attempt.accepted', 'lookup.found'];

/**
 * Whether a refund's timeline explains what became of it, beyond what holds for all books:
 * it starts with the creation; nothing but a review follows its end; every attempt is counted, and after each one it was
 * found out that nothing had moved before the next one was made; nothing completes unless the processor was known to
 * have it; and nothing is cancelled or failed while an attempt may stand.
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

/** Between one attempt and the next somebody found out that the first one had moved nothing. */
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
  const told = `is ${status} after ${sinceLastAttempt.join(', ')}`;
  switch (status) {
    case 'completed':
      return unless(has(atProcessor), told);
    case 'cancelled': {
      const wasSent = types.includes('attempt.started') && !has(nothingMoved);
      const { sent } = (end?.detail ?? {}) as { sent?: boolean };
      return unless(wasSent ? has(atProcessor) && sent !== false : sent === false, told);
    }
    case 'failed':
      // The rejection of an attempt is told by the end itself, unless the attempt is known to be lost.
      return unless(
        (end !== undefined && !sinceLastAttempt.includes('attempt.unknown')) ||
          has([...nothingMoved, ...atProcessor]),
        told,
      );
    default:
      return `still ${told}`;
  }
}

/** The finding of a promise that is kept when `isKept`. */
export function unless(isKept: boolean, problem: string): Finding {
  return isKept ? null : problem;
}
