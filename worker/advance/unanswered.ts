import type {
  CancelResult,
  ProcessorFailure,
  ProcessorRefund,
  Unavailable,
  UnavailableCause,
  Unknown,
} from '#shared/processors/contract/processor.ts';
import { withoutDeadline } from '#shared/refunds/lifecycle/step-outcome.ts';
import type { ResultOf, StepResult } from '#shared/refunds/lifecycle/step-result.ts';
import { lookupConclusiveAt } from '#shared/refunds/model/attempts.ts';
import { type Flag, flagOf } from '#shared/refunds/model/flags.ts';
import { isPastDeadline, nextRetryPause, type OutcomeContext, settlementPause } from './outcomes.ts';

// What it means for a refund that the processor has not done or not said what was asked: when to ask again, and when to stop. Pure
// functions.

/** A call without effect that may be repeated later. */
type Unanswered = Pick<Unavailable, 'cause' | 'failure' | 'retryAfterMs'>;

/** Unreadable answers in a row after which a refund is flagged: one alone may be an accident on the way. */
const unreadableInRow = 3;

/** Age of a refund after which it is flagged while its payment has not settled: most settle within days. */
const unsettledMs = 7 * 24 * 60 * 60 * 1000;

/** Not at the processor: retried until the retry deadline, or for as long as the payment or the balance does not allow it. */
export function unavailable(
  context: OutcomeContext,
  { cause, failure, retryAfterMs }: Unanswered,
): StepResult {
  const isInTime = withoutDeadline.has(cause) || !isPastDeadline(context);
  if (!isInTime && context.claim.afterServerError === null) return givenUp(cause, failure);
  const flag = unavailableFlag(context, cause, failure);
  return { kind: 'not_applied', cause, failure, flag, dueInMs: nextRetryPause(context, retryAfterMs) };
}

/** Where the account works again, no other flag for what is not sent stands. */
function unavailableFlag(
  { claim: { now, refund, work } }: OutcomeContext,
  cause: UnavailableCause,
  { message }: ProcessorFailure,
): Flag | null | undefined {
  const facts = { message };
  switch (cause) {
    case 'insufficient_balance':
      return { reason: 'insufficient_balance', facts };
    case 'payment_unsettled': {
      const isLate = now.getTime() - refund.createdAt.getTime() >= unsettledMs;
      return isLate ? { reason: 'unsettled', facts } : null;
    }
    case 'unreadable': {
      const isUnread = work.consecutiveFailures + 1 >= unreadableInRow;
      return isUnread ? { reason: 'answer_unreadable', facts } : undefined;
    }
    default:
      return undefined;
  }
}

/**
 * An attempt of unknown outcome: the lookup comes first. The next attempt has the same key, also after a 500: Stripe repeats that answer
 * for as long as it keeps the key, and may carry the request out meanwhile (https://docs.stripe.com/error-low-level).
 */
export function unknown(
  context: OutcomeContext,
  { failure, keyRefused, awaitsApproval, serverError }: Omit<Unknown, 'kind'>,
): StepResult {
  if (awaitsApproval) return approvalAtProcessor(context, 'attempt.unknown', failure);
  const flag = unansweredFlag(context, failure);
  const dueInMs = nextRetryPause(context);
  return {
    kind: 'perhaps_applied',
    failure,
    isKeySpent: keyRefused === true,
    flag,
    dueInMs,
    serverError: serverError === true,
  };
}

/** The processor sends it itself, or never: it is looked up slowly, and only a person can say that it was denied there. */
function approvalAtProcessor(
  { settings }: OutcomeContext,
  by: ResultOf<'approval_at_processor'>['by'],
  { message }: Pick<ProcessorFailure, 'message'>,
): StepResult {
  const flag = { reason: 'approval_at_processor', facts: { message } } as const;
  return { kind: 'approval_at_processor', by, flag, dueInMs: settings.MISCONFIGURED_RETRY_MS };
}

/**
 * A lookup that found nothing. It proves that nothing was applied once the attempt has ended and the settle delay has passed, and after a
 * server error only what `afterServerError` says.
 */
export function absent(context: OutcomeContext): StepResult {
  const { claim, settings } = context;
  const flag = flagOf(claim.work);
  if (claim.work.approvalRequestedAt !== null) {
    const { message = 'The refund awaits approval at the processor.' } =
      flag?.reason === 'approval_at_processor' ? flag.facts : {};
    return approvalAtProcessor(context, 'lookup.inconclusive', { message });
  }
  const { afterServerError, work } = claim;
  const isPast = isPastDeadline(context);
  const hasSameKey = afterServerError === 'same_key';
  if (afterServerError === 'person' || (hasSameKey && isPast)) return undecidable(context);
  const attempted = hasSameKey ? { ...work, serverErrorAt: null } : work;
  const conclusiveAt = lookupConclusiveAt(settings, claim.refund, attempted);
  const missingMs = conclusiveAt.getTime() - claim.now.getTime();
  if (missingMs > 0) return { kind: 'inconclusive', conclusiveAt, dueInMs: missingMs };
  // With other credentials or permissions since, it has not been tried for as long as the deadline says.
  const hadNoAccount = flag?.reason === 'account_unusable' || flag?.reason === 'not_permitted';
  if (isPast && !hadNoAccount && work.cancelRequestedAt === null)
    return givenUp('unreachable', { message: 'refund not found' });
  return { kind: 'absent', hadNoAccount };
}

/** The processor may still carry out what it answered with a server error, and nothing guards another attempt. */
function undecidable({ settings }: OutcomeContext): StepResult {
  const message = 'A server error, after which the refund may be carried out later.';
  const flag = { reason: 'outcome_unknown', facts: { message } } as const;
  const dueInMs = settings.MISCONFIGURED_RETRY_MS;
  return { kind: 'flagged', by: 'lookup.inconclusive', waitingFor: 'unknown_outcome', flag, dueInMs };
}

/** A lookup or a cancellation without an answer: it is unknown whether the processor has the refund, or has cancelled it. */
export function unanswered(
  context: OutcomeContext,
  by: ResultOf<'unanswered'>['by'],
  failure: ProcessorFailure,
  retryAfterMs: number | null,
): StepResult {
  const flag = unansweredFlag(context, failure);
  return { kind: 'unanswered', by, failure, flag, dueInMs: nextRetryPause(context, retryAfterMs) };
}

/** A refund whose state at the processor could not be read, in any status. */
export function stateUnread(
  context: OutcomeContext,
  { cause, failure, retryAfterMs }: Unanswered,
): StepResult {
  const flag = unansweredFlag(context, failure);
  return { kind: 'unread', cause, flag, dueInMs: nextRetryPause(context, retryAfterMs) };
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
): StepResult {
  const { failure } = answer;
  // Asked again, a reviewer at the processor would be asked once more.
  const awaitsApproval = answer.kind === 'unknown' && answer.awaitsApproval === true;
  if (answer.kind === 'refused' || answer.kind === 'misconfigured' || awaitsApproval)
    return { kind: 'cancel_refused', failure, found, dueInMs: settlementPause(context, 1) };
  const retryAfterMs = answer.kind === 'unavailable' ? answer.retryAfterMs : null;
  return unanswered(context, 'cancel.unanswered', failure, retryAfterMs);
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
function givenUp(cause: UnavailableCause, last: Pick<ProcessorFailure, 'message'>): StepResult {
  const message = `${whyGivenUp[cause]} before the retry deadline. Last error: ${last.message}`;
  return { kind: 'failed', attempt: 'unavailable', failure: { code: 'processor_unavailable', message } };
}

/** The flag for a step without an answer, once this has lasted for too long. */
function unansweredFlag({ claim, settings }: OutcomeContext, failure: ProcessorFailure): Flag | undefined {
  const { retryingSince, flaggedAt, unknownSince } = claim.work;
  const troubledMs = claim.now.getTime() - (retryingSince ?? claim.now).getTime();
  if (troubledMs < settings.FLAG_UNKNOWN_AFTER_MS || flaggedAt !== null) return undefined;
  const reason = unknownSince === null ? 'no_answer' : 'outcome_unknown';
  return { reason, facts: { message: failure.message } };
}
