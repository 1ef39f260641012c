import type { RefundEvent } from '#shared/platform/database.ts';
import { attemptsOf } from '#shared/refunds/model/attempts.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { readLedger } from '../../support/refunds/ledger.ts';
import { ledgerViolations } from '../../support/refunds/ledger-rules.ts';
import type { RefundRecord } from '../../support/refunds/refund-records.ts';
import type { Combination } from './combinations.ts';
import { flows } from './flows.ts';
import { isOver, type Stage } from './stage.ts';

/** What is wrong, one line each. */
type Problems = string[];

const unless = (isKept: boolean, problem: string): Problems => (isKept ? [] : [problem]);

/** Checks the refund of a combination against every promise: the rules of the ledger, its timeline and its end. */
export async function brokenPromises(stage: Stage, combination: Combination): Promise<Problems> {
  const { deps, sandbox } = stage.service;
  const ledger = await readLedger(deps.db, sandbox, [stage.transactionId]);
  const { refunds, events } = ledger;
  const [refund] = refunds;
  if (refund === undefined || refunds.length > 1)
    return [`requested once, on record ${refunds.length} times`];
  return [
    ...unless(isOver(refund), `still ${refund.status}, flagged because: ${refund.flagReason}`),
    ...ledgerViolations(ledger).map(({ what }) => what),
    ...timelineProblems(refund, events).map((problem) => `the timeline ${problem}`),
    ...problemsOfEnd(refund, stage, combination),
  ];
}

/** Every refund that can succeed does, and a confirmed cancellation stays cancelled. */
function problemsOfEnd(
  { status }: RefundRecord,
  { isConfirmedCancelled }: Stage,
  combination: Combination,
): Problems {
  if (isConfirmedCancelled) return unless(status === 'cancelled', `confirmed as cancelled, it is ${status}`);
  const ends = [
    ...flows[combination.flow].ends(combination),
    ...(combination.isCancelled ? ['cancelled'] : []),
  ];
  return unless(ends.includes(status), `ended as ${status}, not ${ends.join(' or ')}`);
}

/** After these events an attempt is known to have moved no money, and another may follow. */
const nothingMoved = ['attempt.unavailable', 'attempt.misconfigured', 'lookup.absent'];
/** After these events the processor is known to have the refund. */
const atProcessor = ['attempt.accepted', 'lookup.found'];

/**
 * Checks that a timeline explains the state of its refund: it starts with the creation; only a review follows the end;
 * every attempt is counted; before each further attempt the previous one is known to have moved no money; a completed
 * refund is known to be at the processor; and no refund is cancelled or failed while an attempt may have succeeded.
 */
function timelineProblems(refund: RefundRecord, events: readonly RefundEvent[]): Problems {
  const [first] = events;
  const numbers = attemptsOf(events, refund.work).map(({ number }) => number);
  return [
    ...unless(first?.type === 'refund.created', `starts with ${first?.type}`),
    ...unless(
      numbers.every((number, index) => number === index + 1),
      `has the attempts ${numbers.join(', ')}`,
    ),
    ...problemsAfterEnd(events),
    ...problemsBetweenAttempts(events),
    ...unless(isEndExplained(refund, events), `does not explain that the refund is ${refund.status}`),
  ];
}

function problemsAfterEnd(events: readonly RefundEvent[]): Problems {
  return events.slice(1).flatMap((event, index) => {
    const before = events[index]?.status;
    if (before === undefined || !isTerminal(before)) return [];
    const isReview = event.type === 'review.flagged' || (before === 'completed' && event.status === 'failed');
    return unless(isReview, `goes on after its end: ${event.type} to ${event.status} after ${before}`);
  });
}

/** Where the outcomes of attempts are in a timeline. */
function placesOfAttempts(events: readonly RefundEvent[]): number[] {
  return events.flatMap((event, index) => (attemptsOf([event], null).length > 0 ? [index] : []));
}

/** From the outcome of an attempt to that of the next one, it must become known to have moved no money. */
function problemsBetweenAttempts(events: readonly RefundEvent[]): Problems {
  const places = placesOfAttempts(events);
  return places.slice(1).flatMap((place, index) => {
    const between = events.slice(places[index], place).map(({ type }) => type);
    const isKnown = between.some((type) => nothingMoved.includes(type));
    return unless(
      isKnown && !between.some((type) => atProcessor.includes(type)),
      `sends again after ${between.join(', ')}`,
    );
  });
}

function isEndExplained(refund: RefundRecord, events: readonly RefundEvent[]): boolean {
  const { status } = refund;
  const [lastAttempt] = refund.attempts;
  const sinceLastAttempt = events.slice(placesOfAttempts(events).at(-1) ?? 0).map(({ type }) => type);
  const has = (known: readonly string[]) => sinceLastAttempt.some((type) => known.includes(type));
  const isAccepted = lastAttempt?.outcome === 'accepted' || has(atProcessor);
  const end = events.find((event) => event.type === `refund.${status}`);
  switch (status) {
    case 'completed':
      return isAccepted;
    case 'cancelled': {
      const wasSent = lastAttempt !== undefined && !has(nothingMoved);
      const { sent } = (end?.detail ?? {}) as { sent?: boolean };
      return wasSent ? isAccepted && sent !== false : sent === false;
    }
    case 'failed':
      // A rejection has no event of its own, so that the end counts, unless the outcome is unknown.
      return (
        (end !== undefined && !sinceLastAttempt.includes('attempt.unknown')) ||
        has([...nothingMoved, ...atProcessor])
      );
    default:
      return false;
  }
}
