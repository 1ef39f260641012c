import type { ProcessorFailure } from '../../shared/processors/processor.ts';
import { claimRefund } from '../../shared/refunds/lease.ts';
import { throttleAccount } from './account-trouble.ts';
import { record, retryPause, settled, settlementPause } from './record.ts';
import { inFuture, referenceTo, type StepContext, type StepResult } from './step.ts';

/**
 * Asks the processor to cancel a refund that it has. Only its confirmation makes the refund cancelled; a refusal is
 * followed by a look at what the refund has become.
 */
export async function askCancellation(context: StepContext): Promise<StepResult> {
  const { deps, processor } = context;
  const externalRefundId = context.refund.externalRefundId;
  const refund = await claimRefund(deps, context.refund, 'other');
  if (refund === null || externalRefundId === null) return 'rest';
  const claimed = { ...context, refund };
  // The lease has to last for both calls.
  const timeoutMs = Math.ceil(deps.settings.PROCESSOR_TIMEOUT_MS / 2);
  const answer = await processor.cancelRefund(externalRefundId, referenceTo(refund), { timeoutMs });
  switch (answer.kind) {
    case 'cancelled':
      return await record(claimed, [settled({ ...answer.refund, state: 'cancelled' })]);
    case 'refused':
      return await recordRefusal(claimed, externalRefundId, answer.failure, timeoutMs);
    case 'unavailable':
      if (answer.rateLimited) await throttleAccount(deps, context.account, answer.retryAfterMs);
      return await recordUnanswered(claimed, answer.failure, answer.retryAfterMs);
    case 'unknown':
    case 'misconfigured':
      return await recordUnanswered(claimed, answer.failure, null);
  }
}

async function recordRefusal(
  context: StepContext,
  externalRefundId: string,
  failure: ProcessorFailure,
  timeoutMs: number,
): Promise<StepResult> {
  const { deps, processor, refund } = context;
  const answer = await processor.getRefund(externalRefundId, referenceTo(refund), { timeoutMs });
  if (answer.kind === 'found' && answer.value.state !== 'open') {
    return await record(context, [settled(answer.value)]);
  }
  const changes = {
    cancelRequestedAt: null,
    fruitlessCount: 0,
    nextActionAt: inFuture(deps, settlementPause(deps, 1)),
  };
  await record(context, [{ to: 'processing', type: 'cancel.refused', changes, detail: { ...failure } }]);
  return 'rest';
}

/** Nobody knows whether it was cancelled: asking again is harmless, because a cancelled refund refuses and says so. */
async function recordUnanswered(
  context: StepContext,
  failure: ProcessorFailure,
  retryAfterMs: number | null,
): Promise<StepResult> {
  const { deps, refund } = context;
  const fruitlessCount = refund.fruitlessCount + 1;
  const nextActionAt = inFuture(deps, retryPause(deps, fruitlessCount, retryAfterMs));
  const changes = { fruitlessCount, nextActionAt };
  return await record(context, [
    { to: 'processing', type: 'cancel.unanswered', changes, detail: { ...failure } },
  ]);
}
