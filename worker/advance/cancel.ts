import type { CancelResult } from '../../shared/processors/contract/processor.ts';
import type { Finding } from '../../shared/refunds/lifecycle/record.ts';
import { referenceTo } from '../../shared/refunds/model/refund.ts';
import { settled, settlementPause, stateRead, unanswered } from './outcomes.ts';
import { record, type StepContext, type StepResult } from './step.ts';

/**
 * Asks the processor to cancel a refund that it has. Only its confirmation makes the refund cancelled; after any other
 * answer the refund is read, so that one which has settled meanwhile is not kept waiting by its cancellation.
 */
export async function cancelAtProcessor(context: StepContext): Promise<StepResult> {
  const { claim, processor, settings } = context;
  const { refund } = claim;
  const externalRefundId = refund.externalRefundId ?? '';
  // The lease has to last for both calls.
  const timeoutMs = Math.ceil(settings.PROCESSOR_TIMEOUT_MS / 2);
  const answer = await processor.cancelRefund(externalRefundId, referenceTo(refund), { timeoutMs });
  if (answer.kind === 'cancelled') {
    return await record(context, settled({ ...answer.refund, state: 'cancelled' }));
  }
  const reading = await processor.getRefund(externalRefundId, referenceTo(refund), { timeoutMs });
  if (reading.kind === 'found' && reading.value.state !== 'open') {
    return await record(context, stateRead(context, reading.value));
  }
  return await record(context, unconfirmed(context, answer));
}

/**
 * The refund is open and the processor did not confirm. A refusal ends the request, also of a key that may not cancel;
 * without an answer the processor is asked again, which is harmless, because a cancelled refund refuses and says so.
 */
function unconfirmed(context: StepContext, answer: Exclude<CancelResult, { kind: 'cancelled' }>): Finding {
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
