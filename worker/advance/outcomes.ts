import type { Settings } from '#shared/platform/config.ts';
import type { Payment, Prisma, Refund } from '#shared/platform/database.ts';
import {
  isLive,
  type Misconfigured,
  type ProcessorFailure,
  type ProcessorRefund,
  type RefundArrival,
} from '#shared/processors/contract/processor.ts';
import type { RefundChange } from '#shared/refunds/lifecycle/move.ts';
import type { StepOutcome } from '#shared/refunds/lifecycle/record.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import type { AttemptOutcome } from '#shared/refunds/model/attempts.ts';
import { retryDelayMs, settlementDelayMs } from '#shared/refunds/model/backoff.ts';
import type { RefundEventType } from '#shared/refunds/model/event-types.ts';
import {
  type Flag,
  factsOf,
  flagOf,
  hasOwnFlag,
  isFlaggedForExtra,
  isSameFlag,
} from '#shared/refunds/model/flags.ts';
import type { WaitingReason } from '#shared/refunds/model/waiting.ts';

// What follows for a refund from each answer of a processor; unanswered.ts has what follows without one. Pure functions.

/** What the outcome depends on besides the answer. */
export interface OutcomeContext {
  claim: Claim;
  settings: Settings;
  /** Uniform in [0, 1). */
  random: () => number;
}

/**
 * The processor has the refund: stores its id and moves the refund as far as its state there allows. The end of a refund that was
 * just sent says that it was accepted; one that was found was looked up, which is noted beside its end.
 */
export function accepted(
  context: OutcomeContext,
  type: 'attempt.accepted' | 'lookup.found',
  found: ProcessorRefund,
): StepOutcome {
  const { claim } = context;
  const mismatch = mismatchOf(claim.refund, found);
  const noted = { to: 'processing', type, detail: describe(found) } as const;
  const change = { externalRefundId: found.id, ...asRead(found) };
  const attempt = { outcome: 'accepted' } as const;
  if (found.state === 'open' || (found.state === 'completed' && mismatch !== null)) {
    return {
      moves: [noted],
      change,
      attempt,
      dueInMs: settlementPause(context, 1),
      ...waitThere(found),
      retrying: false,
      consecutiveFailures: 0,
      isKnown: true,
      flag: mismatch ?? openFlag(context, found),
    };
  }
  const end = settled(found);
  const moves = type === 'attempt.accepted' ? end.moves : [noted, ...end.moves];
  return { ...end, moves, change: { ...change, ...end.change }, attempt };
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
    change: { ...asRead(found), ...(to === 'failed' ? asChange(failure) : {}) },
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

const end = { dueInMs: null, waitingFor: null, isKnown: true, endsCancel: true, flag: null } as const;

function asChange({ code, message }: ProcessorFailure) {
  return { failureCode: code, failureMessage: message };
}

/**
 * The outcome of reading a refund from the processor. One with another amount or currency than requested is flagged, never
 * completed; one that moved no money has ended, with any amount.
 */
export function stateRead(context: OutcomeContext, found: ProcessorRefund): StepOutcome {
  if (!isLive(found)) return settled(found);
  const mismatch = mismatchOf(context.claim.refund, found);
  if (mismatch !== null) return flagged(context, 'settlement.flagged', 'settlement', mismatch);
  if (found.state === 'completed') return settled(found);
  return stillOpen(context, found);
}

/** The refund is open there, as it should be. A flag stands for as long as its cause is seen. */
function stillOpen(context: OutcomeContext, found: ProcessorRefund): StepOutcome {
  const { refund, work } = context.claim;
  const { processorStatus } = found;
  const consecutiveFailures = work.consecutiveFailures + 1;
  const next = {
    dueInMs: settlementPause(context, consecutiveFailures),
    ...waitThere(found),
    consecutiveFailures,
    retrying: false,
  };
  const flag = openFlag(context, found);
  const isFlagged = isSameFlag(flagOf(work), flag) || (flag === null && !hasOwnFlag(work));
  const hasChanged = processorStatus !== refund.processorStatus || hasNewArrival(refund, found) || !isFlagged;
  if (!hasChanged) return { ...next, moves: [], change: {} };
  const detail = flag === null ? { processorStatus } : { processorStatus, flag };
  return {
    ...next,
    moves: [{ to: 'processing', type: 'settlement.progress', detail }],
    change: asRead(found),
    flag,
  };
}

/** What an open refund waits for at the processor. */
export function waitThere({
  waitsFor,
  dueBy,
}: Pick<ProcessorRefund, 'waitsFor' | 'dueBy'>): Pick<StepOutcome, 'waitingFor' | 'waitingUntil'> {
  return {
    waitingFor: waitsFor ?? 'settlement',
    ...(waitsFor === 'customer_action' && { waitingUntil: dueBy }),
  };
}

/**
 * Why a person should look at a refund that is open there: the account has to be topped up, or the refund takes longer than its method
 * does. Null otherwise.
 */
function openFlag({ claim }: OutcomeContext, found: ProcessorRefund): Flag | null {
  const facts = factsOf(claim.refund, found);
  if (found.waitsFor === 'insufficient_balance') return { reason: 'insufficient_balance', facts };
  return found.dueBy !== undefined && found.dueBy <= claim.now ? { reason: 'overdue', facts } : null;
}

/** The processor refuses what the account asks for: the refund is kept, flagged and retried slowly until that is corrected. */
export function misconfigured(
  context: OutcomeContext,
  type: RefundEventType,
  { failure, scope }: Pick<Misconfigured, 'failure' | 'scope'>,
  more: Partial<StepOutcome> = {},
): StepOutcome {
  const reason = scope === 'object' ? 'not_permitted' : 'account_unusable';
  return flagged(context, type, 'credentials', { reason, facts: { message: failure.message } }, more);
}

/**
 * Refused credentials of a send, or of the read of its payment: the attempt was the only one of unknown outcome, so none is unknown now.
 * The time to the retry deadline begins again with new credentials.
 */
export function credentialsRefused(
  context: OutcomeContext,
  refusal: Pick<Misconfigured, 'failure' | 'scope'>,
): StepOutcome {
  const more = { attempt: refusedAttempt(context), isKnown: true, retrying: false } as const;
  return misconfigured(context, 'attempt.misconfigured', refusal, more);
}

/**
 * Stripe may keep a refusal for the key (https://docs.stripe.com/api/idempotent_requests) and would repeat it after the cause is gone, so
 * the next attempt takes another key. The key stays where an earlier attempt had the same: its outcome is unknown, and Stripe may have
 * refused this one without a look at the key.
 */
export function refusedAttempt({
  claim: { work },
}: Pick<OutcomeContext, 'claim'>): NonNullable<StepOutcome['attempt']> {
  return { outcome: 'misconfigured', keySpent: work.attemptNumber === work.idempotencyKeyVersion };
}

/** The stored credentials cannot be used: the processor was not called. */
export function accountUnusable(context: OutcomeContext, message: string): StepOutcome {
  const refusal = { scope: 'credentials', failure: { code: 'credentials_unusable', message } } as const;
  const { step } = context.claim;
  if (step === 'review')
    return { moves: [], dueInMs: context.settings.MISCONFIGURED_RETRY_MS, waitingFor: null };
  if (step === 'send' || step === 'verify') return credentialsRefused(context, refusal);
  return misconfigured(context, 'attempt.misconfigured', refusal);
}

/**
 * Flags the refund and keeps its status. The same flag is not noted twice, nor is one beside the flag for an extra refund,
 * unless there is more to record. It is tried again slowly: the cause is often fixed at the processor.
 */
export function flagged(
  { claim, settings }: OutcomeContext,
  type: RefundEventType,
  waitingFor: WaitingReason,
  flag: Flag,
  more: Partial<StepOutcome> = {},
): StepOutcome {
  const isCovered = isSameFlag(flagOf(claim.work), flag) || isFlaggedForExtra(claim.work);
  const isNoted = isCovered && Object.keys(more).length === 0;
  return {
    moves: isNoted ? [] : [{ to: claim.refund.status, type, detail: { flag } }],
    ...more,
    dueInMs: settings.MISCONFIGURED_RETRY_MS,
    waitingFor,
    consecutiveFailures: claim.work.consecutiveFailures + 1,
    ...(isNoted ? {} : { flag }),
  };
}

/** The flag for a refund whose amount or currency is not what was asked; null when it is. */
function mismatchOf(refund: Refund, found: ProcessorRefund): Flag | null {
  if (found.amount === refund.amount && found.currency === refund.currency) return null;
  return { reason: 'amount_differs', facts: factsOf(refund, found) };
}

/** The payment was read. The refund continues, unless it exceeds the payment and has failed, which ended its lease. */
export function paymentStored(context: OutcomeContext, { amount }: Pick<Payment, 'amount'>): StepOutcome {
  if (amount !== null) return { moves: [], dueInMs: 0, waitingFor: null, consecutiveFailures: 0 };
  // The amount could not be stored. The pause keeps the payment from being read in a loop.
  return { moves: [], waitingFor: null, ...failedAgain(context) };
}

/** What is stored of the processor's refund besides its id. */
function asRead({ processorStatus, arrival }: ProcessorRefund): RefundChange {
  return { processorStatus, ...(arrival && { arrival }) };
}

/** True when the processor has said how the customer gets the money, and that is not stored. */
export function hasNewArrival(
  { arrival: stored }: Pick<Refund, 'arrival'>,
  { arrival: read }: Pick<ProcessorRefund, 'arrival'>,
): boolean {
  const { kind = null, reference = null } = (stored ?? {}) as Partial<RefundArrival>;
  return read !== undefined && (read.reference !== reference || read.kind !== kind);
}

/** The processor's refund, for the timeline. */
export function describe(found: ProcessorRefund): Prisma.InputJsonObject {
  const failure = found.failure === null ? {} : { code: found.failure.code, message: found.failure.message };
  return { externalRefundId: found.id, processorStatus: found.processorStatus, ...failure };
}

/** The pause before the next retry, in milliseconds. */
export function retryPause(
  { settings, random }: OutcomeContext,
  consecutiveFailures: number,
  retryAfterMs: number | null,
): number {
  const { RETRY_BASE_MS: baseMs, RETRY_CAP_MS: capMs } = settings;
  return retryDelayMs(consecutiveFailures, { baseMs, capMs }, random, retryAfterMs);
}

/** One more failure in a row, and the pause that follows it. */
export function failedAgain(context: OutcomeContext, retryAfterMs: number | null = null) {
  const consecutiveFailures = context.claim.work.consecutiveFailures + 1;
  return { consecutiveFailures, dueInMs: retryPause(context, consecutiveFailures, retryAfterMs) };
}

/** The pause before settlement is checked again, in milliseconds. */
export function settlementPause({ settings, random }: OutcomeContext, consecutiveFailures: number): number {
  const { SETTLEMENT_BASE_MS: baseMs, SETTLEMENT_CAP_MS: capMs } = settings;
  return settlementDelayMs(consecutiveFailures, { baseMs, capMs }, random);
}

/** True when the retry deadline has passed, counted from the first failure. */
export function isPastDeadline({ claim, settings }: OutcomeContext): boolean {
  const { retryingSince } = claim.work;
  if (retryingSince === null) return false;
  return claim.now.getTime() - retryingSince.getTime() >= settings.RETRY_DEADLINE_MS;
}
