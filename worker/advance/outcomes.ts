import type { Settings } from '../../shared/platform/config.ts';
import type { AttemptOutcome, Prisma, Refund } from '../../shared/platform/database.ts';
import {
  isLive,
  type ProcessorFailure,
  type ProcessorRefund,
} from '../../shared/processors/contract/processor.ts';
import type { Claim } from '../../shared/refunds/lifecycle/claim.ts';
import type { Finding } from '../../shared/refunds/lifecycle/record.ts';
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

// What each answer of a processor does to a refund: pure, so that it can be shown as a table.

/** Everything that decides besides the answer itself. */
export interface OutcomeContext {
  claim: Claim;
  settings: Settings;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** A call that surely moved nothing and may be made again later. */
export interface Unavailable {
  failure: ProcessorFailure;
  retryAfterMs: number | null;
}

/** The processor has the refund: notes its id and goes as far as its state allows. */
export function accepted(context: OutcomeContext, type: RefundEventType, found: ProcessorRefund): Finding {
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

/** The refund has reached its end at the processor. */
export function settled(found: ProcessorRefund): Finding {
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

/** The refund will never be at the processor. */
export function failed(failure: ProcessorFailure, attempt?: AttemptOutcome): Finding {
  return {
    ...end,
    moves: [{ to: 'failed', type: 'refund.failed', detail: { ...failure } }],
    change: asChange(failure),
    ...(attempt === undefined ? {} : { attempt: { outcome: attempt } }),
  };
}

/** It surely is not at the processor, which is not asked. */
export function cancelledUnsent(): Finding {
  return {
    ...end,
    moves: [{ to: 'cancelled', type: 'refund.cancelled', detail: { sent: false } }],
    unlessNews: true,
  };
}

const end = { dueInMs: null, isKnown: true, endsCancel: true, flag: null } as const;

function asChange({ code, message }: ProcessorFailure) {
  return { failureCode: code, failureMessage: message };
}

/** Surely not at the processor, and tried again until the retry deadline. */
export function unavailable(
  context: OutcomeContext,
  { failure, retryAfterMs }: Unavailable,
  attempt?: Finding['attempt'],
): Finding {
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

/** An attempt whose outcome is not known: looked up before anything else. */
export function unknown(context: OutcomeContext, failure: ProcessorFailure, replied: boolean): Finding {
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  return {
    moves: [{ to: 'processing', type: 'attempt.unknown', detail: { ...failure } }],
    attempt: { outcome: 'unknown', keySpent: replied },
    dueInMs: retryPause(context, consecutiveFailures),
    consecutiveFailures,
    ...stillUnknown(context, failure),
  };
}

/** A lookup that found nothing, which is proof only once the attempt has surely ended and the processor would show it. */
export function absent(context: OutcomeContext): Finding {
  const { claim, settings } = context;
  const conclusiveAt = lookupConclusiveAt(settings, claim.refund, claim.work, claim.attempt);
  const missingMs = conclusiveAt.getTime() - claim.now.getTime();
  if (missingMs > 0) {
    const detail = { conclusiveAt: conclusiveAt.toISOString() };
    return { moves: [{ to: 'processing', type: 'lookup.inconclusive', detail }], dueInMs: missingMs };
  }
  // Of an attempt whose worker died it is known from here on that it was not applied.
  const attempt = { outcome: 'unavailable' } as const;
  if (isPastDeadline(context)) return { ...givenUp('it has no such refund'), attempt };
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
): Finding {
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  return {
    moves: [{ to: 'processing', type, detail: { ...failure } }],
    dueInMs: retryPause(context, consecutiveFailures, retryAfterMs),
    consecutiveFailures,
    ...stillUnknown(context, failure),
  };
}

/** A step of which nothing is known but that it failed on our side; what was sent before may have arrived. */
export function stepFailed(context: OutcomeContext): Finding {
  const failure = {
    code: 'step_failed',
    message: 'What the processor answered could not be recorded; the log of the worker tells why.',
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

/** A refund at the processor whose state could not be read. The timeline notes it once it is flagged. */
export function stateUnread(context: OutcomeContext, { failure, retryAfterMs }: Unavailable): Finding {
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
 * What a refund at the processor has become. One that moved another amount than was asked is never called completed; one
 * that moved nothing has ended, whatever amount it was made for.
 */
export function stateRead(context: OutcomeContext, found: ProcessorRefund): Finding {
  if (!isLive(found)) return settled(found);
  const mismatch = mismatchOf(context.claim.refund, found);
  if (mismatch !== null) return flagged(context, 'settlement.flagged', mismatch);
  if (found.state === 'completed') return settled(found);
  const { refund, work } = context.claim;
  const consecutiveFailures = work.consecutiveFailures + 1;
  const hasNews = found.processorStatus !== refund.processorStatus || hasOwnFlag(work);
  const { processorStatus } = found;
  return {
    moves: hasNews ? [{ to: 'processing', type: 'settlement.progress', detail: { processorStatus } }] : [],
    change: hasNews ? { processorStatus } : {},
    dueInMs: settlementPause(context, consecutiveFailures),
    consecutiveFailures,
    retrying: false,
    ...(hasNews ? { flag: null } : {}),
  };
}

/** Refused credentials: nothing moves until the account is corrected; the refund is kept, flagged and tried again slowly. */
export function misconfigured(
  context: OutcomeContext,
  type: RefundEventType,
  failure: ProcessorFailure,
  more: Partial<Finding> = {},
): Finding {
  return flagged(context, type, { reason: 'account_unusable', facts: { message: failure.message } }, more);
}

/**
 * Flags the refund and keeps its status. The same flag is not noted twice, nor is one beside the flag for an extra refund,
 * unless there is more to record. It is tried again slowly: the cause is often fixed at the processor.
 */
export function flagged(
  { claim, settings }: OutcomeContext,
  type: RefundEventType,
  flag: Flag,
  more: Partial<Finding> = {},
): Finding {
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

/** The end of a refund that could not be brought to the processor in time. */
function givenUp(lastWords: string): Finding {
  const message = `The processor could not be reached in time; it last said: ${lastWords}`;
  return failed({ code: 'processor_unavailable', message });
}

/** True when a refund that is not at the processor has been tried for long enough, counted from the first trouble. */
function isPastDeadline({ claim, settings }: OutcomeContext): boolean {
  const { retryingSince } = claim.work;
  if (retryingSince === null) return false;
  return claim.now.getTime() - retryingSince.getTime() >= settings.UNAVAILABLE_HORIZON_MS;
}

/** An attempt without an answer: once this has lasted for too long, the refund is flagged. */
function stillUnknown(
  { claim, settings }: OutcomeContext,
  failure: ProcessorFailure,
): { retrying: true; flag?: Flag } {
  const { retryingSince, flaggedAt } = claim.work;
  const troubledMs = claim.now.getTime() - (retryingSince ?? claim.now).getTime();
  if (troubledMs < settings.UNKNOWN_HORIZON_MS || flaggedAt !== null) return { retrying: true };
  const reason = claim.refund.externalRefundId === null ? 'outcome_unknown' : 'no_answer';
  return { retrying: true, flag: { reason, facts: { message: failure.message } } };
}

/** The flag for a refund whose amount or currency is not what was asked; null when it is. */
function mismatchOf(refund: Refund, found: ProcessorRefund): Flag | null {
  if (found.amount === refund.amount && found.currency === refund.currency) return null;
  return { reason: 'amount_differs', facts: factsOf(refund, found) };
}

/** The pause before the same is tried again, in milliseconds. */
export function retryPause(
  { settings, random }: Pick<OutcomeContext, 'settings' | 'random'>,
  consecutiveFailures: number,
  retryAfterMs: number | null = null,
): number {
  const { RETRY_BASE_MS: baseMs, RETRY_CAP_MS: capMs } = settings;
  return retryDelayMs(consecutiveFailures, { baseMs, capMs }, random, retryAfterMs);
}

/** The pause before settlement is read again, in milliseconds. */
export function settlementPause(
  { settings, random }: Pick<OutcomeContext, 'settings' | 'random'>,
  consecutiveFailures: number,
): number {
  const { SETTLEMENT_BASE_MS: baseMs, SETTLEMENT_CAP_MS: capMs } = settings;
  return settlementDelayMs(consecutiveFailures, { baseMs, capMs }, random);
}

/** What the processor said of a refund, for the timeline. */
export function describe(found: ProcessorRefund): Prisma.InputJsonObject {
  const failure = found.failure === null ? {} : { code: found.failure.code, message: found.failure.message };
  return { externalRefundId: found.id, processorStatus: found.processorStatus, ...failure };
}
