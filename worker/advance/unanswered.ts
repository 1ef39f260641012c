import { isUnreadable, isUnsettled } from '#shared/processors/contract/outcome.ts';
import type { CancelResult, ProcessorFailure } from '#shared/processors/contract/processor.ts';
import type { StepOutcome } from '#shared/refunds/lifecycle/record.ts';
import { lookupConclusiveAt } from '#shared/refunds/model/attempts.ts';
import { type Flag, flagOf } from '#shared/refunds/model/flags.ts';
import { failed, failedAgain, isPastDeadline, type OutcomeContext, settlementPause } from './outcomes.ts';

// What follows for a refund while the processor has not done or not said what was asked: when to ask again, and when to stop. Pure
// functions.

/** A call without effect that may be repeated later. */
interface Unavailable {
  failure: ProcessorFailure;
  retryAfterMs: number | null;
}

/** Unreadable answers in a row after which a refund is flagged: one alone may be an accident on the way. */
const unreadableInRow = 3;

/** Age of a refund after which it is flagged while its payment has not settled: most settle within days. */
const unsettledMs = 7 * 24 * 60 * 60 * 1000;

/** Not at the processor: retried until the retry deadline, or for as long as the payment has not settled. */
export function unavailable(
  context: OutcomeContext,
  { failure, retryAfterMs }: Unavailable,
  attempt?: StepOutcome['attempt'],
): StepOutcome {
  const ended = attempt === undefined ? {} : { attempt };
  const waits = isUnsettled(failure);
  if (!waits && isPastDeadline(context)) return { ...givenUp(failure), ...ended };
  const again = failedAgain(context, retryAfterMs);
  const facts = { message: failure.message };
  const isUnread = isUnreadable(failure) && again.consecutiveFailures >= unreadableInRow;
  const { now, refund } = context.claim;
  const isLate = now.getTime() - refund.createdAt.getTime() >= unsettledMs;
  return {
    moves: [{ to: 'processing', type: 'attempt.unavailable', detail: { ...failure } }],
    ...ended,
    ...(isUnread ? { flag: { reason: 'answer_unreadable', facts } } : {}),
    // Otherwise the account works again, so no other flag for what is not sent stands.
    ...(waits ? { flag: isLate ? { reason: 'unsettled', facts } : null } : {}),
    ...again,
    retrying: !waits,
    isKnown: true,
  };
}

/** An attempt of unknown outcome: the lookup comes first. */
export function unknown(context: OutcomeContext, failure: ProcessorFailure, replied: boolean): StepOutcome {
  return {
    moves: [{ to: 'processing', type: 'attempt.unknown', detail: { ...failure } }],
    attempt: { outcome: 'unknown', keySpent: replied },
    ...failedAgain(context),
    ...stillUnknown(context, failure),
  };
}

/** A lookup that found nothing. It proves that nothing was applied once the attempt has ended and the settle delay has passed. */
export function absent(context: OutcomeContext): StepOutcome {
  const { claim, settings } = context;
  const conclusiveAt = lookupConclusiveAt(settings, claim.refund, claim.work);
  const missingMs = conclusiveAt.getTime() - claim.now.getTime();
  if (missingMs > 0) {
    const detail = { conclusiveAt: conclusiveAt.toISOString() };
    return { moves: [{ to: 'processing', type: 'lookup.inconclusive', detail }], dueInMs: missingMs };
  }
  // The attempt of the killed worker was not applied.
  const attempt = { outcome: 'unavailable' } as const;
  // With other credentials since, it has not been tried for as long as the deadline says.
  const hadNoAccount = flagOf(claim.work)?.reason === 'account_unusable';
  if (isPastDeadline(context) && !hadNoAccount)
    return { ...givenUp({ code: 'absent', message: 'refund not found' }), attempt };
  return {
    moves: [{ to: 'processing', type: 'lookup.absent' }],
    attempt,
    dueInMs: 0,
    ...(hadNoAccount ? { retrying: false } : {}),
    isKnown: true,
    flag: null,
  };
}

/** A lookup or a cancellation without an answer. */
export function unanswered(
  context: OutcomeContext,
  type: 'lookup.unanswered' | 'cancel.unanswered',
  failure: ProcessorFailure,
  retryAfterMs: number | null,
): StepOutcome {
  return {
    moves: [{ to: 'processing', type, detail: { ...failure } }],
    ...failedAgain(context, retryAfterMs),
    ...stillUnknown(context, failure),
  };
}

/** A step that failed on our side: what was sent may have arrived. */
export function stepFailed(context: OutcomeContext): StepOutcome {
  const failure = {
    code: 'step_failed',
    message: "The processor's answer could not be recorded. See the worker log.",
  };
  switch (context.claim.step) {
    case 'send':
      return unknown(context, failure, false);
    case 'look_up':
      return unanswered(context, 'lookup.unanswered', failure, null);
    case 'cancel_at_processor':
      return unanswered(context, 'cancel.unanswered', failure, null);
    default:
      return stateUnread(context, { failure, retryAfterMs: null });
  }
}

/** A refund whose state at the processor could not be read, in any status. Only the flag, in time, adds a timeline entry. */
export function stateUnread(context: OutcomeContext, { failure, retryAfterMs }: Unavailable): StepOutcome {
  const { status } = context.claim.refund;
  const unread = stillUnknown(context, failure);
  const { flag } = unread;
  const type = status === 'processing' ? 'settlement.flagged' : 'review.flagged';
  return {
    moves: flag === undefined ? [] : [{ to: status, type, detail: { flag } }],
    ...failedAgain(context, retryAfterMs),
    ...unread,
  };
}

/**
 * The processor did not confirm a cancellation, and the refund is open. A refusal ends the cancellation, also one of a key
 * without the permission. Without an answer it is repeated, which is harmless.
 */
export function cancelUnconfirmed(
  context: OutcomeContext,
  answer: Exclude<CancelResult, { kind: 'cancelled' }>,
): StepOutcome {
  if (answer.kind === 'refused' || answer.kind === 'misconfigured') {
    return {
      moves: [{ to: 'processing', type: 'cancel.refused', detail: { ...answer.failure } }],
      dueInMs: settlementPause(context, 1),
      endsCancel: true,
      consecutiveFailures: 0,
      retrying: false,
    };
  }
  const retryAfterMs = answer.kind === 'unavailable' ? answer.retryAfterMs : null;
  return unanswered(context, 'cancel.unanswered', answer.failure, retryAfterMs);
}

/** The refund could not be sent before the retry deadline. */
function givenUp(last: ProcessorFailure): StepOutcome {
  const what = isUnreadable(last)
    ? "The processor's answers could not be read"
    : 'The processor could not be reached';
  const message = `${what} before the retry deadline. Last error: ${last.message}`;
  return failed({ code: 'processor_unavailable', message });
}

/** An attempt without an answer: once this has lasted for too long, the refund is flagged. */
function stillUnknown(
  { claim, settings }: OutcomeContext,
  failure: ProcessorFailure,
): { retrying: true; flag?: Flag } {
  const { retryingSince, flaggedAt } = claim.work;
  const troubledMs = claim.now.getTime() - (retryingSince ?? claim.now).getTime();
  if (troubledMs < settings.FLAG_UNKNOWN_AFTER_MS || flaggedAt !== null) return { retrying: true };
  const reason = claim.work.unknownSince === null ? 'no_answer' : 'outcome_unknown';
  return { retrying: true, flag: { reason, facts: { message: failure.message } } };
}
