import type {
  CancelResult,
  ProcessorFailure,
  ProcessorRefund,
  Unavailable,
  UnavailableCause,
  Unknown,
} from '#shared/processors/contract/processor.ts';
import type { StepOutcome } from '#shared/refunds/lifecycle/record.ts';
import { lookupConclusiveAt } from '#shared/refunds/model/attempts.ts';
import { type Flag, flagOf } from '#shared/refunds/model/flags.ts';
import { isHeldAtProcessor, type WaitingReason } from '#shared/refunds/model/waiting.ts';
import {
  failed,
  failedAgain,
  flagged,
  isPastDeadline,
  type OutcomeContext,
  settlementPause,
  waitThere,
} from './outcomes.ts';

// What follows for a refund while the processor has not done or not said what was asked: when to ask again, and when to stop. Pure
// functions.

/** A call without effect that may be repeated later. */
type Unanswered = Pick<Unavailable, 'cause' | 'failure' | 'retryAfterMs'>;

/** Unreadable answers in a row after which a refund is flagged: one alone may be an accident on the way. */
const unreadableInRow = 3;

/** Age of a refund after which it is flagged while its payment has not settled: most settle within days. */
const unsettledMs = 7 * 24 * 60 * 60 * 1000;

const waitingFor: Record<UnavailableCause, WaitingReason> = {
  unreachable: 'processor_unreachable',
  unreadable: 'processor_unreachable',
  rate_limited: 'rate_limited',
  payment_busy: 'rate_limited',
  payment_unsettled: 'payment_unsettled',
  insufficient_balance: 'insufficient_balance',
};

/** The processor keeps its answer to such an attempt for the key, so that the next attempt takes another one. */
const spendsKey: ReadonlySet<UnavailableCause> = new Set(['payment_unsettled', 'insufficient_balance']);

/** Not sent. The account works, and what is missing comes in time: there is no retry deadline. */
const withoutDeadline = spendsKey;

/** Not at the processor: retried until the retry deadline, or for as long as the payment or the balance does not allow it. */
export function unavailable(
  context: OutcomeContext,
  { cause, failure, retryAfterMs }: Unanswered,
  { isAttempt }: { isAttempt: boolean },
): StepOutcome {
  const attempt = { outcome: 'unavailable', keySpent: spendsKey.has(cause) } as const;
  const ended = isAttempt ? { attempt } : {};
  const waits = withoutDeadline.has(cause);
  if (!waits && isPastDeadline(context)) return { ...givenUp(cause, failure), ...ended };
  return {
    moves: [{ to: 'processing', type: 'attempt.unavailable', detail: { ...failure } }],
    ...ended,
    waitingFor: waitingFor[cause],
    ...unavailableFlag(context, cause, failure),
    ...failedAgain(context, retryAfterMs),
    retrying: !waits,
    isKnown: true,
  };
}

/** Where the account works again, no other flag for what is not sent stands. */
function unavailableFlag(
  { claim: { now, refund, work } }: OutcomeContext,
  cause: UnavailableCause,
  { message }: ProcessorFailure,
): { flag?: Flag | null } {
  const facts = { message };
  switch (cause) {
    case 'insufficient_balance':
      return { flag: { reason: 'insufficient_balance', facts } };
    case 'payment_unsettled': {
      const isLate = now.getTime() - refund.createdAt.getTime() >= unsettledMs;
      return { flag: isLate ? { reason: 'unsettled', facts } : null };
    }
    case 'unreadable': {
      const isUnread = work.consecutiveFailures + 1 >= unreadableInRow;
      return isUnread ? { flag: { reason: 'answer_unreadable', facts } } : {};
    }
    default:
      return {};
  }
}

/**
 * An attempt of unknown outcome: the lookup comes first. The next attempt has the same key, also after a 500: Stripe repeats that answer
 * for as long as it keeps the key, and may carry the request out meanwhile (https://docs.stripe.com/error-low-level).
 */
export function unknown(
  context: OutcomeContext,
  { failure, keyRefused, awaitsApproval }: Pick<Unknown, 'failure' | 'keyRefused' | 'awaitsApproval'>,
): StepOutcome {
  const attempt = { outcome: 'unknown', keySpent: keyRefused === true } as const;
  if (awaitsApproval)
    return heldForApproval(context, 'attempt.unknown', failure, { attempt, awaitsApproval });
  return {
    moves: [{ to: 'processing', type: 'attempt.unknown', detail: { ...failure } }],
    attempt,
    waitingFor: 'unknown_outcome',
    ...failedAgain(context),
    ...stillUnknown(context, failure),
  };
}

/** The processor sends it itself, or never: it is looked up slowly, and only a person can say that it was denied there. */
function heldForApproval(
  context: OutcomeContext,
  type: 'attempt.unknown' | 'lookup.inconclusive',
  { message }: Pick<ProcessorFailure, 'message'>,
  more: Partial<StepOutcome> = {},
): StepOutcome {
  const flag = { reason: 'approval_at_processor', facts: { message } } as const;
  return flagged(context, type, 'approval_at_processor', flag, more);
}

/** A lookup that found nothing. It proves that nothing was applied once the attempt has ended and the settle delay has passed. */
export function absent(context: OutcomeContext): StepOutcome {
  const { claim, settings } = context;
  if (claim.work.approvalRequestedAt !== null) {
    const flag = flagOf(claim.work);
    const { message = 'The processor holds the refund for a reviewer.' } =
      flag?.reason === 'approval_at_processor' ? flag.facts : {};
    return heldForApproval(context, 'lookup.inconclusive', { message });
  }
  const conclusiveAt = lookupConclusiveAt(settings, claim.refund, claim.work);
  const missingMs = conclusiveAt.getTime() - claim.now.getTime();
  if (missingMs > 0) {
    const detail = { conclusiveAt: conclusiveAt.toISOString() };
    return {
      moves: [{ to: 'processing', type: 'lookup.inconclusive', detail }],
      dueInMs: missingMs,
      waitingFor: 'unknown_outcome',
    };
  }
  // The attempt of the killed worker was not applied.
  const attempt = { outcome: 'unavailable' } as const;
  // With other credentials or permissions since, it has not been tried for as long as the deadline says.
  const reason = flagOf(claim.work)?.reason;
  const hadNoAccount = reason === 'account_unusable' || reason === 'not_permitted';
  if (isPastDeadline(context) && !hadNoAccount)
    return { ...givenUp('unreachable', { message: 'refund not found' }), attempt };
  return {
    moves: [{ to: 'processing', type: 'lookup.absent' }],
    attempt,
    dueInMs: 0,
    waitingFor: null,
    ...(hadNoAccount ? { retrying: false } : {}),
    isKnown: true,
    flag: null,
  };
}

/** A lookup or a cancellation without an answer: it is unknown whether the processor has the refund, or has cancelled it. */
export function unanswered(
  context: OutcomeContext,
  type: 'lookup.unanswered' | 'cancel.unanswered',
  failure: ProcessorFailure,
  retryAfterMs: number | null,
): StepOutcome {
  return {
    moves: [{ to: 'processing', type, detail: { ...failure } }],
    waitingFor: 'unknown_outcome',
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
      return unknown(context, { failure });
    case 'look_up':
      return unanswered(context, 'lookup.unanswered', failure, null);
    case 'cancel_at_processor':
      return unanswered(context, 'cancel.unanswered', failure, null);
    default:
      return stateUnread(context, { cause: 'unreadable', failure, retryAfterMs: null });
  }
}

/** A refund whose state at the processor could not be read, in any status. Only the flag, in time, adds a timeline entry. */
export function stateUnread(
  context: OutcomeContext,
  { cause, failure, retryAfterMs }: Unanswered,
): StepOutcome {
  const { refund, work } = context.claim;
  const { status } = refund;
  const { waitingFor: last, waitingUntil } = work;
  const unread = stillUnknown(context, failure);
  const { flag } = unread;
  const type = status === 'processing' ? 'settlement.flagged' : 'review.flagged';
  return {
    moves: flag === undefined ? [] : [{ to: status, type, detail: { flag } }],
    // What holds the money there holds it in an outage as well.
    ...(status === 'processing' && isHeldAtProcessor(last)
      ? { waitingFor: last, waitingUntil: waitingUntil ?? undefined }
      : { waitingFor: status === 'processing' ? waitingFor[cause] : null }),
    ...failedAgain(context, retryAfterMs),
    ...unread,
  };
}

/**
 * The processor did not confirm a cancellation, and the refund is open. A refusal ends the cancellation, also one of a key
 * without the permission. Without an answer it is repeated, which is harmless.
 * @param found the refund as read after that; empty when it could not be read.
 */
export function cancelUnconfirmed(
  context: OutcomeContext,
  answer: Exclude<CancelResult, { kind: 'cancelled' }>,
  found: Pick<ProcessorRefund, 'waitsFor' | 'dueBy'>,
): StepOutcome {
  // Asked again, a reviewer at the processor would be asked once more.
  const isHeld = answer.kind === 'unknown' && answer.awaitsApproval === true;
  if (answer.kind === 'refused' || answer.kind === 'misconfigured' || isHeld) {
    return {
      moves: [{ to: 'processing', type: 'cancel.refused', detail: { ...answer.failure } }],
      dueInMs: settlementPause(context, 1),
      ...waitThere(found),
      endsCancel: true,
      consecutiveFailures: 0,
      retrying: false,
    };
  }
  const retryAfterMs = answer.kind === 'unavailable' ? answer.retryAfterMs : null;
  return unanswered(context, 'cancel.unanswered', answer.failure, retryAfterMs);
}

const notAccepted = 'The processor did not accept the request';

const whyGivenUp: Record<UnavailableCause, string> = {
  unreachable: 'The processor could not be reached',
  unreadable: "The processor's answers could not be read",
  rate_limited: notAccepted,
  payment_busy: notAccepted,
  payment_unsettled: notAccepted,
  insufficient_balance: notAccepted,
};

/** The refund could not be sent before the retry deadline. */
function givenUp(cause: UnavailableCause, last: Pick<ProcessorFailure, 'message'>): StepOutcome {
  const message = `${whyGivenUp[cause]} before the retry deadline. Last error: ${last.message}`;
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
