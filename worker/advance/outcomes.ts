import type { Settings } from '../../shared/platform/config.ts';
import type { AttemptOutcome, Payment, Prisma, Refund } from '../../shared/platform/database.ts';
import {
  type CancelResult,
  isLive,
  type ProcessorFailure,
  type ProcessorRefund,
} from '../../shared/processors/contract/processor.ts';
import type { Claim } from '../../shared/refunds/lifecycle/claim.ts';
import type { StepOutcome } from '../../shared/refunds/lifecycle/record.ts';
import { retryDelayMs, settlementDelayMs } from '../../shared/refunds/model/backoff.ts';
import type { RefundEventType } from '../../shared/refunds/model/event-types.ts';
import {
  type Flag,
  factsOf,
  flagOf,
  hasOwnFlag,
  isFlaggedForExtra,
  isSameFlag,
} from '../../shared/refunds/model/flags.ts';
import { lookupConclusiveAt } from '../../shared/refunds/model/lookup-proof.ts';

// What follows for a refund from each answer of a processor. Pure functions.

/** What the outcome depends on besides the answer. */
export interface OutcomeContext {
  claim: Claim;
  settings: Settings;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** A call without effect that may be repeated later. */
export interface Unavailable {
  failure: ProcessorFailure;
  retryAfterMs: number | null;
}

/** The processor has the refund: stores its id and moves the refund as far as its state there allows. */
export function accepted(
  context: OutcomeContext,
  type: RefundEventType,
  found: ProcessorRefund,
): StepOutcome {
  const { claim } = context;
  const mismatch = mismatchOf(claim.refund, found);
  const noted = { to: 'processing', type, detail: describe(found) } as const;
  const change = { externalRefundId: found.id, processorStatus: found.processorStatus };
  const attempt = { outcome: 'accepted' } as const;
  if (found.state === 'open' || (found.state === 'completed' && mismatch !== null)) {
    return {
      moves: [noted],
      change,
      attempt,
      dueInMs: settlementPause(context, 1),
      retrying: false,
      consecutiveFailures: 0,
      isKnown: true,
      flag: mismatch,
    };
  }
  const end = settled(found);
  return { ...end, moves: [noted, ...end.moves], change: { ...change, ...end.change }, attempt };
}

/** The refund has ended at the processor. */
export function settled(found: ProcessorRefund): StepOutcome {
  const to = found.state === 'open' ? 'processing' : found.state;
  const failure = found.failure ?? {
    code: 'processor_failed',
    message: `The processor reports the refund as ${found.processorStatus}.`,
  };
  return {
    ...end,
    moves: [{ to, type: `refund.${to}`, detail: describe(found) }],
    change: { processorStatus: found.processorStatus, ...(to === 'failed' ? asChange(failure) : {}) },
  };
}

/** The refund will not be at the processor. */
export function failed(failure: ProcessorFailure, attempt?: AttemptOutcome): StepOutcome {
  return {
    ...end,
    moves: [{ to: 'failed', type: 'refund.failed', detail: { ...failure } }],
    change: asChange(failure),
    ...(attempt === undefined ? {} : { attempt: { outcome: attempt } }),
  };
}

/** The refund is not at the processor, which is not called. */
export function cancelledUnsent(): StepOutcome {
  return {
    ...end,
    moves: [{ to: 'cancelled', type: 'refund.cancelled', detail: { sent: false } }],
    unlessResync: true,
  };
}

const end = { dueInMs: null, isKnown: true, endsCancel: true, flag: null } as const;

function asChange({ code, message }: ProcessorFailure) {
  return { failureCode: code, failureMessage: message };
}

/** Not at the processor: retried until the retry deadline. */
export function unavailable(
  context: OutcomeContext,
  { failure, retryAfterMs }: Unavailable,
  attempt?: StepOutcome['attempt'],
): StepOutcome {
  const ended = attempt === undefined ? {} : { attempt };
  if (isPastDeadline(context)) return { ...givenUp(failure.message), ...ended };
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  return {
    moves: [{ to: 'processing', type: 'attempt.unavailable', detail: { ...failure } }],
    ...ended,
    dueInMs: retryPause(context, consecutiveFailures, retryAfterMs),
    consecutiveFailures,
    retrying: true,
    isKnown: true,
  };
}

/** An attempt of unknown outcome: the lookup comes first. */
export function unknown(context: OutcomeContext, failure: ProcessorFailure, replied: boolean): StepOutcome {
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  return {
    moves: [{ to: 'processing', type: 'attempt.unknown', detail: { ...failure } }],
    attempt: { outcome: 'unknown', keySpent: replied },
    dueInMs: retryPause(context, consecutiveFailures),
    consecutiveFailures,
    ...stillUnknown(context, failure),
  };
}

/** A lookup that found nothing: proof only once the attempt has ended and the processor would show it. */
export function absent(context: OutcomeContext): StepOutcome {
  const { claim, settings } = context;
  const conclusiveAt = lookupConclusiveAt(settings, claim.refund, claim.work, claim.attempt);
  const missingMs = conclusiveAt.getTime() - claim.now.getTime();
  if (missingMs > 0) {
    const detail = { conclusiveAt: conclusiveAt.toISOString() };
    return { moves: [{ to: 'processing', type: 'lookup.inconclusive', detail }], dueInMs: missingMs };
  }
  // The attempt of the killed worker was not applied.
  const attempt = { outcome: 'unavailable' } as const;
  if (isPastDeadline(context)) return { ...givenUp('refund not found'), attempt };
  return {
    moves: [{ to: 'processing', type: 'lookup.absent' }],
    attempt,
    dueInMs: 0,
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
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  return {
    moves: [{ to: 'processing', type, detail: { ...failure } }],
    dueInMs: retryPause(context, consecutiveFailures, retryAfterMs),
    consecutiveFailures,
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

/** A refund at the processor whose state could not be read. Only the flag, in time, adds a timeline entry. */
export function stateUnread(context: OutcomeContext, { failure, retryAfterMs }: Unavailable): StepOutcome {
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  const unread = stillUnknown(context, failure);
  return {
    moves:
      unread.flag === undefined
        ? []
        : [{ to: 'processing', type: 'settlement.flagged', detail: { flag: unread.flag } }],
    dueInMs: retryPause(context, consecutiveFailures, retryAfterMs),
    consecutiveFailures,
    ...unread,
  };
}

/**
 * The outcome of reading a refund from the processor. One with another amount or currency than requested is flagged, never
 * completed; one that moved no money has ended, with any amount.
 */
export function stateRead(context: OutcomeContext, found: ProcessorRefund): StepOutcome {
  if (!isLive(found)) return settled(found);
  const mismatch = mismatchOf(context.claim.refund, found);
  if (mismatch !== null) return flagged(context, 'settlement.flagged', mismatch);
  if (found.state === 'completed') return settled(found);
  const { refund, work } = context.claim;
  const consecutiveFailures = work.consecutiveFailures + 1;
  const hasChanged = found.processorStatus !== refund.processorStatus || hasOwnFlag(work);
  const { processorStatus } = found;
  return {
    moves: hasChanged ? [{ to: 'processing', type: 'settlement.progress', detail: { processorStatus } }] : [],
    change: hasChanged ? { processorStatus } : {},
    dueInMs: settlementPause(context, consecutiveFailures),
    consecutiveFailures,
    retrying: false,
    ...(hasChanged ? { flag: null } : {}),
  };
}

/** Refused credentials: the refund is kept, flagged and retried slowly until the account is corrected. */
export function misconfigured(
  context: OutcomeContext,
  type: RefundEventType,
  failure: ProcessorFailure,
  more: Partial<StepOutcome> = {},
): StepOutcome {
  return flagged(context, type, { reason: 'account_unusable', facts: { message: failure.message } }, more);
}

/** Refused credentials of a send: the attempt was the only one of unknown outcome, so none is unknown now. */
export function credentialsRefused(context: OutcomeContext, failure: ProcessorFailure): StepOutcome {
  const more = { attempt: { outcome: 'misconfigured' }, isKnown: true } as const;
  return misconfigured(context, 'attempt.misconfigured', failure, more);
}

/** The stored credentials cannot be used: the processor was not called. */
export function accountUnusable(context: OutcomeContext, message: string): StepOutcome {
  const failure = { code: 'credentials_unusable', message };
  if (context.claim.step === 'review') return { moves: [], dueInMs: context.settings.MISCONFIGURED_RETRY_MS };
  if (context.claim.step === 'send') return credentialsRefused(context, failure);
  return misconfigured(context, 'attempt.misconfigured', failure);
}

/**
 * Flags the refund and keeps its status. The same flag is not noted twice, nor is one beside the flag for an extra refund,
 * unless there is more to record. It is tried again slowly: the cause is often fixed at the processor.
 */
export function flagged(
  { claim, settings }: OutcomeContext,
  type: RefundEventType,
  flag: Flag,
  more: Partial<StepOutcome> = {},
): StepOutcome {
  const isCovered = isSameFlag(flagOf(claim.work), flag) || isFlaggedForExtra(claim.work);
  const isTold = isCovered && Object.keys(more).length === 0;
  return {
    moves: isTold ? [] : [{ to: claim.refund.status, type, detail: { flag } }],
    ...more,
    dueInMs: settings.MISCONFIGURED_RETRY_MS,
    consecutiveFailures: claim.work.consecutiveFailures + 1,
    ...(isTold ? {} : { flag }),
  };
}

/** The refund could not be sent before the retry deadline. */
function givenUp(lastMessage: string): StepOutcome {
  const message = `The processor could not be reached before the retry deadline. Last error: ${lastMessage}`;
  return failed({ code: 'processor_unavailable', message });
}

/** True when the retry deadline has passed, counted from the first failure. */
function isPastDeadline({ claim, settings }: OutcomeContext): boolean {
  const { retryingSince } = claim.work;
  if (retryingSince === null) return false;
  return claim.now.getTime() - retryingSince.getTime() >= settings.RETRY_DEADLINE_MS;
}

/** An attempt without an answer: once this has lasted for too long, the refund is flagged. */
function stillUnknown(
  { claim, settings }: OutcomeContext,
  failure: ProcessorFailure,
): { retrying: true; flag?: Flag } {
  const { retryingSince, flaggedAt } = claim.work;
  const troubledMs = claim.now.getTime() - (retryingSince ?? claim.now).getTime();
  if (troubledMs < settings.FLAG_UNKNOWN_AFTER_MS || flaggedAt !== null) return { retrying: true };
  const reason = claim.refund.externalRefundId === null ? 'outcome_unknown' : 'no_answer';
  return { retrying: true, flag: { reason, facts: { message: failure.message } } };
}

/** The flag for a refund whose amount or currency is not what was asked; null when it is. */
function mismatchOf(refund: Refund, found: ProcessorRefund): Flag | null {
  if (found.amount === refund.amount && found.currency === refund.currency) return null;
  return { reason: 'amount_differs', facts: factsOf(refund, found) };
}

/** The payment was read. The refund continues, unless it exceeds the payment and has failed, which ended its lease. */
export function paymentStored(context: OutcomeContext, { amount }: Pick<Payment, 'amount'>): StepOutcome {
  if (amount !== null) return { moves: [], dueInMs: 0, consecutiveFailures: 0 };
  // The amount could not be stored. The pause keeps the payment from being read in a loop.
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  return { moves: [], dueInMs: retryPause(context, consecutiveFailures), consecutiveFailures };
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

/** The pause before the next retry, in milliseconds. */
export function retryPause(
  { settings, random }: Pick<OutcomeContext, 'settings' | 'random'>,
  consecutiveFailures: number,
  retryAfterMs: number | null = null,
): number {
  const { RETRY_BASE_MS: baseMs, RETRY_CAP_MS: capMs } = settings;
  return retryDelayMs(consecutiveFailures, { baseMs, capMs }, random, retryAfterMs);
}

/** The pause before settlement is checked again, in milliseconds. */
function settlementPause(
  { settings, random }: Pick<OutcomeContext, 'settings' | 'random'>,
  consecutiveFailures: number,
): number {
  const { SETTLEMENT_BASE_MS: baseMs, SETTLEMENT_CAP_MS: capMs } = settings;
  return settlementDelayMs(consecutiveFailures, { baseMs, capMs }, random);
}

/** The processor's refund, for the timeline. */
export function describe(found: ProcessorRefund): Prisma.InputJsonObject {
  const failure = found.failure === null ? {} : { code: found.failure.code, message: found.failure.message };
  return { externalRefundId: found.id, processorStatus: found.processorStatus, ...failure };
}
