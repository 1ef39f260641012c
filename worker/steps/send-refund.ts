import { claimRefund } from '../../shared/refunds/lease.ts';
import { recordSubmission } from './record-submission.ts';
import type { StepContext, StepResult } from './step.ts';

/**
 * Sends a refund that surely is not at the processor. The claim writes the attempt down as unknown before the call,
 * so whatever happens from then on, nobody sends again without looking first.
 */
export async function sendRefund(context: StepContext): Promise<StepResult> {
  const since = performance.now();
  const refund = await claimRefund(context.deps, context.refund, 'send');
  if (refund === null) return 'rest';
  const { id, transactionId, amount, currency, reason } = refund;
  const result = await context.processor.createRefund(
    { refundId: id, transactionId, amount, currency, reason, idempotencyKey: `${id}-${refund.keySeries}` },
    // A process that is frozen after its claim may lose its lease, but not send then: its time counts from the claim.
    { timeoutMs: context.deps.settings.PROCESSOR_TIMEOUT_MS, since },
  );
  return await recordSubmission({ ...context, refund }, result);
}
