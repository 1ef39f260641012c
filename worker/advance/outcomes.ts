import type { Settings } from '#shared/platform/config.ts';
import type { Payment, Refund } from '#shared/platform/database.ts';
import { processorFailure } from '#shared/processors/contract/outcome.ts';
import {
  isLive,
  type Misconfigured,
  type ProcessorFailure,
  type ProcessorRefund,
} from '#shared/processors/contract/processor.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import type { Acceptance, ResultOf, StepResult } from '#shared/refunds/lifecycle/step-result.ts';
import { retryDelayMs, settlementDelayMs } from '#shared/refunds/model/backoff.ts';
import { type Flag, factsOf } from '#shared/refunds/model/flags.ts';

// What each answer of a processor means for a refund; unanswered.ts has what it means when there is none. Pure functions.

/** What the result depends on besides the answer. */
export interface OutcomeContext {
  claim: Claim;
  settings: Settings;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** The processor has the refund, which moves as far as its state there allows. */
export function accepted(context: OutcomeContext, by: Acceptance, found: ProcessorRefund): StepResult {
  const mismatch = mismatchOf(context.claim.refund, found);
  if (found.state !== 'open' && mismatch === null) return { kind: 'settled', to: found.state, found, by };
  const flag = mismatch ?? openFlag(context, found);
  return { kind: 'accepted', by, found, flag, dueInMs: settlementPause(context, 1) };
}

/**
 * The result of reading a refund from the processor. One with another amount or currency than requested is flagged, never
 * completed; one that moved no money has ended, with any amount.
 */
export function stateRead(context: OutcomeContext, found: ProcessorRefund): StepResult {
  const mismatch = mismatchOf(context.claim.refund, found);
  if (mismatch !== null) return settlementFlagged(context, mismatch);
  if (found.state !== 'open') return { kind: 'settled', to: found.state, found, by: null };
  const dueInMs = settlementPause(context, context.claim.work.consecutiveFailures + 1);
  return { kind: 'open', found, flag: openFlag(context, found), dueInMs };
}

/** What the processor has, or does not have, is not what it should be. It is read again slowly. */
export function settlementFlagged({ settings }: OutcomeContext, flag: Flag): StepResult {
  const dueInMs = settings.MISCONFIGURED_RETRY_MS;
  return { kind: 'flagged', by: 'settlement.flagged', waitingFor: 'settlement', flag, dueInMs };
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

/** The flag for a refund that moved, or may move, another amount or currency than what was asked; null for any other. */
function mismatchOf(refund: Refund, found: ProcessorRefund): Flag | null {
  const isAsked = found.amount === refund.amount && found.currency === refund.currency;
  return isAsked || !isLive(found) ? null : { reason: 'amount_differs', facts: factsOf(refund, found) };
}

/** The refusal of a processor, which is tried again slowly: the cause is often corrected there. */
export type Refusal = Pick<Misconfigured, 'failure' | 'scope'>;

/** The flag for a refusal, and the pause after it. */
export function refusal(
  { settings }: OutcomeContext,
  { failure, scope }: Refusal,
): Pick<ResultOf<'credentials_refused'>, 'flag' | 'dueInMs'> {
  const reason = scope === 'object' ? 'not_permitted' : 'account_unusable';
  const flag = { reason, facts: { message: failure.message } } as const;
  return { flag, dueInMs: settings.MISCONFIGURED_RETRY_MS };
}

/**
 * Refused credentials of a send, or of the read of its payment: the attempt was the only one of unknown outcome, so none is unknown now.
 */
export function credentialsRefused(context: OutcomeContext, refused: Refusal): StepResult {
  return { kind: 'credentials_refused', ...refusal(context, refused) };
}

/**
 * The payment was read before, and payments do not vanish, or the credentials were just replaced: the account may be another one. It
 * cannot tell what an earlier attempt did, so the refund is looked up before it is sent again.
 */
export function paymentMissing(context: OutcomeContext, { message }: ProcessorFailure): StepResult {
  const words = `The credentials may be those of another account, without this payment. ${message}`;
  const failure = processorFailure('payment_missing', words);
  const missing = refusal(context, { scope: 'credentials', failure });
  const isFirst = context.claim.work.attemptNumber <= 1;
  return { kind: isFirst ? 'credentials_refused' : 'payment_missing', ...missing };
}

/** The payment was read. The refund continues, unless it exceeds the payment and has failed, which ended its lease. */
export function paymentStored(context: OutcomeContext, { amount }: Pick<Payment, 'amount'>): StepResult {
  if (amount !== null) return { kind: 'payment_stored' };
  // The pause keeps the payment from being read in a loop.
  return { kind: 'payment_unstorable', dueInMs: nextRetryPause(context) };
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

/** The pause that follows one more failure in a row, in milliseconds. */
export function nextRetryPause(context: OutcomeContext, retryAfterMs: number | null = null): number {
  return retryPause(context, context.claim.work.consecutiveFailures + 1, retryAfterMs);
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
