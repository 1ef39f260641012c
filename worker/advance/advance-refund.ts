import type { Dependencies } from '#shared/dependencies.ts';
import { lockPaymentOf, markPaymentStale } from '#shared/payments/payment.ts';
import { isDatabaseUnavailable } from '#shared/platform/database.ts';
import { warnSparingly } from '#shared/platform/log.ts';
import type { OpenSpan } from '#shared/platform/telemetry/telemetry.ts';
import { isUnusableCredentials } from '#shared/processors/accounts/connections.ts';
import type { Processor } from '#shared/processors/contract/processor.ts';
import { recordStep } from '#shared/refunds/lifecycle/record.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import type { StepResult } from '#shared/refunds/lifecycle/step-result.ts';
import { type DueWork, openDueWork } from './due-work.ts';
import { inStepSpan, recordWait, setOutcome, withCallSpans } from './step-span.ts';
import { accountUnusable, stepFailed, steps } from './steps.ts';

/** Steps that are taken at once at most; a worker claims what is still due later. */
const maxSteps = 8;

/**
 * Advances the refunds of a processor that are due. Only the database says what is due, so an emptied or unreachable queue delays
 * a refund and never loses it.
 */
export function openRefundWork(deps: Dependencies, processor: string): DueWork {
  return openDueWork({
    places: deps.settings.WORKER_CONCURRENCY,
    claimDue: async (most) =>
      deps.settings.RESTORED
        ? { claims: [], isMore: false, isWaiting: false }
        : await deps.statements.claimDue(processor, most),
    work: (claim) => advanceRefund(deps, claim),
    warn: warnSparingly(
      deps.log.child({ processor }),
      'refunds could not be advanced; they are claimed again once they are due and their leases have ended',
    ),
  });
}

/**
 * Takes the steps of a refund that are due, from one that was claimed: call the processor, record what follows, claim again.
 * Everything is decided from the database.
 * @throws when the database is unavailable; the refund is claimed again once its lease has ended.
 */
export async function advanceRefund(deps: Dependencies, claimed: Claim): Promise<void> {
  let claim: Claim | null = claimed;
  recordWait(deps, claimed);
  for (let step = 1; claim !== null && (await advance(deps, claim)); step += 1) {
    claim = step < maxSteps ? await deps.statements.claim(claimed.refund.id) : null;
  }
}

/**
 * Takes one step. A step that fails through a bug, or through an answer that cannot be stored, is recorded as unanswered:
 * it counts as a failure, is retried more slowly and is flagged in time.
 * @returns true when the next step is due at once.
 */
async function advance(deps: Dependencies, claim: Claim): Promise<boolean> {
  return await inStepSpan(deps, claim, async (span) => {
    try {
      const result = await takeStep(deps, claim, span);
      return result !== null && (await record(deps, claim, result, span));
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      deps.log.error({ err: error, refundId: claim.refund.id, step: claim.step }, 'a step failed');
      const failed = stepFailed({ claim, settings: deps.settings, random: deps.random });
      return await record(deps, claim, failed, span);
    }
  });
}

/** @returns true when the next step is due at once. */
async function record(
  deps: Dependencies,
  claim: Claim,
  result: StepResult,
  span: OpenSpan,
): Promise<boolean> {
  // First, so that the payment is read again even if this process dies before the result is recorded.
  if ('isPaymentStale' in result && result.isPaymentStale) {
    await deps.db.$transaction(async (tx) => {
      await markPaymentStale(tx, await lockPaymentOf(tx, claim.refund));
    });
  }
  const recorded = await recordStep(deps, claim, result);
  setOutcome(span, recorded);
  return recorded.result === 'resync' || recorded.result === 'due';
}

/** @returns what the step has come to; null when the lease was lost and there is nothing to record. */
async function takeStep(deps: Dependencies, claim: Claim, span: OpenSpan): Promise<StepResult | null> {
  const context = { claim, settings: deps.settings, random: deps.random };
  if (claim.step === 'cancel') return { kind: 'cancelled_unsent' };
  let processor: Processor;
  try {
    processor = withCallSpans(await deps.connections.connect(claim.account), claim.refund.processor, span);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    return accountUnusable(context, claim.step, error.message);
  }
  const options = { timeoutMs: deps.settings.PROCESSOR_TIMEOUT_MS };
  return await steps[claim.step].take({ ...context, deps, processor, options });
}
