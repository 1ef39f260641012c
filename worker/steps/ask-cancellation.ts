import { noteTrouble, throttleAccount } from '../../shared/accounts/account-trouble.ts';
import type { CancelResult } from '../../shared/processors/processor.ts';
import { claimRefund } from '../../shared/refunds/lease.ts';
import { referenceTo } from '../../shared/refunds/reference.ts';
import { type Finding, record, retryPause, settled, settlementPause, stillUnknown } from './record.ts';
import { recordState } from './record-state.ts';
import { inFuture, type StepContext, type StepResult } from './step.ts';

/**
 * Asks the processor to cancel a refund that it has. Only its confirmation makes the refund cancelled; after any other
 * answer the refund is read, so that one which has settled meanwhile is not kept waiting by its cancellation.
 */
export async function askCancellation(context: StepContext): Promise<StepResult> {
  const { deps, processor, account } = context;
  const externalRefundId = context.refund.externalRefundId;
  const refund = await claimRefund(deps, context.refund, 'other');
  if (refund === null || externalRefundId === null) return 'rest';
  const claimed = { ...context, refund };
  // The lease has to last for both calls.
  const timeoutMs = Math.ceil(deps.settings.PROCESSOR_TIMEOUT_MS / 2);
  const answer = await processor.cancelRefund(externalRefundId, referenceTo(refund), { timeoutMs });
  if (answer.kind === 'cancelled') {
    return await record(claimed, [settled({ ...answer.refund, state: 'cancelled' })]);
  }
  const reading = await processor.getRefund(externalRefundId, referenceTo(refund), { timeoutMs });
  if (reading.kind === 'found' && reading.value.state !== 'open') {
    return await recordState(claimed, reading.value);
  }
  await record(claimed, [unconfirmed(claimed, answer)]);
  if (answer.kind === 'unavailable' && answer.rateLimited) {
    await throttleAccount(deps, account, answer.retryAfterMs);
  }
  await noteTrouble(deps, account, reading);
  return 'rest';
}

/**
 * The refund is open and the processor did not confirm. A refusal ends the request, also of a key that may not cancel;
 * without an answer the processor is asked again, which is harmless, because a cancelled refund refuses and says so.
 */
function unconfirmed(context: StepContext, answer: Exclude<CancelResult, { kind: 'cancelled' }>): Finding {
  const { deps, refund } = context;
  const detail = { ...answer.failure };
  if (answer.kind === 'refused' || answer.kind === 'misconfigured') {
    const nextActionAt = inFuture(deps, settlementPause(deps, 1));
    const changes = { cancelRequestedAt: null, fruitlessCount: 0, nextActionAt, retryingSince: null };
    return { to: 'processing', type: 'cancel.refused', changes, detail };
  }
  const fruitlessCount = refund.fruitlessCount + 1;
  const retryAfterMs = answer.kind === 'unavailable' ? answer.retryAfterMs : null;
  const nextActionAt = inFuture(deps, retryPause(deps, fruitlessCount, retryAfterMs));
  const changes = { fruitlessCount, nextActionAt, ...stillUnknown(context, answer.failure) };
  return { to: 'processing', type: 'cancel.unanswered', changes, detail };
}
