import { markMisconfigured, throttleAccount } from '../../shared/accounts/account-trouble.ts';
import { databaseNow } from '../../shared/db.ts';
import type { ProcessorFailure } from '../../shared/processors/processor.ts';
import { claimRefund } from '../../shared/refunds/lease.ts';
import { lookupConclusiveAt } from '../../shared/refunds/lookup-proof.ts';
import { referenceTo } from '../../shared/refunds/reference.ts';
import type { RefundChanges } from '../../shared/refunds/transition.ts';
import { accountUnusable, askPerson, record, recordAccepted, retryPause, stillUnknown } from './record.ts';
import { inFuture, type StepContext, type StepResult } from './step.ts';
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
    case 'payment-not-found':
      return await recordUnanswered(claimed, answer.failure, null);
    case 'misconfigured':
      await markMisconfigured(deps, context.account, answer.failure);
      return await askPerson(
        claimed,
        'lookup.flagged',
        accountUnusable(answer.failure),
        refund.retryingSince === null ? { retryingSince: deps.clock.now() } : {},
      );
  }
}

async function recordAbsent(context: StepContext): Promise<StepResult> {
  const { deps, refund } = context;
  const conclusiveAt = lookupConclusiveAt(deps.settings, refund);
  const missingMs = conclusiveAt.getTime() - (await databaseNow(deps.db)).getTime();
  if (missingMs > 0) {
    const nextActionAt = inFuture(deps, missingMs);
    const detail = { conclusiveAt: conclusiveAt.toISOString() };
    return await record(context, [
      { to: 'processing', type: 'lookup.inconclusive', changes: { nextActionAt }, detail },
    ]);
  }
  const proven: RefundChanges = {
    unknownSince: null,
    attemptAnswered: false,
    lastOutcome: 'unavailable',
    // Whatever asked for a person was that nobody knew; now it goes on by itself.
    flaggedAt: null,
    flagReason: null,
  };
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
