import type { RefundEvent } from '#shared/platform/database.ts';
import { attemptsOf } from '#shared/refunds/model/attempts.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
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
  const [first] = events;
  const numbers = attemptsOf(events, refund.work).map(({ number }) => number);
  return [
    unless(first?.type === 'refund.created', `starts with ${first?.type}`),
    unless(
      numbers.every((number, index) => number === index + 1),
      `has the attempts ${numbers.join(', ')}`,
    ),
    ...afterEndFindings(events),
    ...attemptFindings(events),
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

/** Where the outcomes of attempts are in a timeline. */
function placesOfAttempts(events: readonly RefundEvent[]): number[] {
  return events.flatMap((event, index) => (attemptsOf([event], null).length > 0 ? [index] : []));
}

/** From the outcome of an attempt to that of the next one, it must become known to have moved no money. */
function attemptFindings(events: readonly RefundEvent[]): Finding[] {
  const places = placesOfAttempts(events);
  return places.slice(1).map((place, index) => {
    const between = events.slice(places[index], place).map(({ type }) => type);
    return unless(
      between.some((type) => nothingMoved.includes(type)) &&
        !between.some((type) => atProcessor.includes(type)),
      `sends again after ${between.join(', ')}`,
    );
  });
}

function endFinding(refund: RefundRecord, events: readonly RefundEvent[]): Finding {
  const { status } = refund;
  const [lastAttempt] = refund.attempts;
  const sinceLastAttempt = events.slice(placesOfAttempts(events).at(-1) ?? 0).map(({ type }) => type);
  const has = (known: readonly string[]) => sinceLastAttempt.some((type) => known.includes(type));
  const isAccepted = lastAttempt?.outcome === 'accepted' || has(atProcessor);
  const end = events.find((event) => event.type === `refund.${status}`);
  const problem = `is ${status} after ${sinceLastAttempt.join(', ')}`;
  switch (status) {
    case 'completed':
      return unless(isAccepted, problem);
    case 'cancelled': {
      const wasSent = lastAttempt !== undefined && !has(nothingMoved);
      const { sent } = (end?.detail ?? {}) as { sent?: boolean };
      return unless(wasSent ? isAccepted && sent !== false : sent === false, problem);
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
