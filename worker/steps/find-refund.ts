import { databaseNow } from '../../shared/db.ts';
import type { ProcessorFailure } from '../../shared/processors/processor.ts';
import { processorKind } from '../../shared/processors/registry.ts';
import { claimRefund, recordingMarginMs } from '../../shared/refunds/lease.ts';
import type { RefundChanges } from '../../shared/refunds/transition.ts';
import { markMisconfigured, throttleAccount } from './account-trouble.ts';
import { record, recordAccepted, retryPause, stillUnknown } from './record.ts';
import { inFuture, referenceTo, type StepContext, type StepResult } from './step.ts';
import { givenUp, isPastHorizon } from './unsent.ts';

/**
 * Finds out what became of an attempt whose fate is unknown. Found settles it; not found is believed only when the
 * attempt has surely ended and the processor has had time to show it. Unknown never becomes failed by itself.
 */
export async function findRefund(context: StepContext): Promise<StepResult> {
  const { deps, processor } = context;
  const refund = await claimRefund(deps, context.refund, 'other');
  if (refund === null) return 'rest';
  const claimed = { ...context, refund };
  const timeoutMs = deps.settings.PROCESSOR_TIMEOUT_MS;
  const answer = await processor.findRefund(referenceTo(refund), { timeoutMs });
  switch (answer.kind) {
    case 'found':
      return await recordAccepted(claimed, 'lookup.found', answer.value);
    case 'not-found':
      return await recordAbsent(claimed);
    case 'unavailable':
      if (answer.rateLimited) await throttleAccount(deps, context.account, answer.retryAfterMs);
      return await recordUnanswered(claimed, answer.failure, answer.retryAfterMs);
    case 'misconfigured':
      await markMisconfigured(deps, context.account, answer.failure);
      return await recordUnanswered(claimed, answer.failure, null);
  }
}

async function recordAbsent(context: StepContext): Promise<StepResult> {
  const { deps, refund } = context;
  const conclusiveAt = lookupConclusiveAt(context);
  const missingMs = conclusiveAt.getTime() - (await databaseNow(deps.db)).getTime();
  if (missingMs > 0) {
    const nextActionAt = inFuture(deps, missingMs);
    const detail = { conclusiveAt: conclusiveAt.toISOString() };
    return await record(context, [
      { to: 'processing', type: 'lookup.inconclusive', changes: { nextActionAt }, detail },
    ]);
  }
  const proven: RefundChanges = { unknownSince: null, attemptAnswered: false, lastOutcome: 'unavailable' };
  if (isPastHorizon(context)) {
    return await record(context, [givenUp('it has no such refund', proven)]);
  }
  const changes: RefundChanges = {
    ...proven,
    // A processor that replied keeps replaying that reply under the same key; nothing moved, so a new key is safe.
    keySeries: refund.attemptAnswered ? refund.keySeries + 1 : refund.keySeries,
    nextActionAt: deps.clock.now(),
  };
  return await record(context, [{ to: 'processing', type: 'lookup.absent', changes }]);
}

/**
 * In the database's time: the end of the last attempt, plus the time after which the processor's lookup is proof. A
 * processor that did reply may still have carried out what it called an error, so that is given a minute.
 */
function lookupConclusiveAt({ deps, refund }: StepContext): Date {
  const { PROCESSOR_TIMEOUT_MS, LOOKUP_SETTLE_DELAY_MS } = deps.settings;
  const { settleDelayMs } = processorKind(refund.processor);
  const proofMs = refund.attemptAnswered ? Math.max(settleDelayMs, answeredSettleDelayMs) : settleDelayMs;
  const sentAt = refund.lastSentAt ?? refund.createdAt;
  // An attempt whose worker died began its call within the margin, and ended with the call's deadline at the latest.
  const latestEndMs = sentAt.getTime() + recordingMarginMs + PROCESSOR_TIMEOUT_MS;
  return new Date((refund.attemptEndedAt?.getTime() ?? latestEndMs) + (LOOKUP_SETTLE_DELAY_MS ?? proofMs));
}

const answeredSettleDelayMs = 60_000;

async function recordUnanswered(
  context: StepContext,
  failure: ProcessorFailure,
  retryAfterMs: number | null,
): Promise<StepResult> {
  const { deps, refund } = context;
  const fruitlessCount = refund.fruitlessCount + 1;
  const changes: RefundChanges = {
    fruitlessCount,
    nextActionAt: inFuture(deps, retryPause(deps, fruitlessCount, retryAfterMs)),
    ...stillUnknown(context, failure),
  };
  return await record(context, [
    { to: 'processing', type: 'lookup.unanswered', changes, detail: { ...failure } },
  ]);
}
