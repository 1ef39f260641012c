import { claimRefund, releaseLease } from '../../shared/refunds/lease.ts';
import { recordTransaction } from '../../shared/transactions/record-transaction.ts';
import { failed, record } from './record.ts';
import type { StepContext, StepResult } from './step.ts';
import { recordMisconfigured, recordUnavailable } from './unsent.ts';

/** Reads the payment of a refund that was accepted while its processor could not be asked; sends nothing. */
export async function verifyTransaction(context: StepContext): Promise<StepResult> {
  const { deps, processor } = context;
  const refund = await claimRefund(deps, context.refund, 'other');
  if (refund === null) return 'rest';
  const claimed = { ...context, refund };
  const readAt = deps.clock.now();
  const timeoutMs = deps.settings.PROCESSOR_TIMEOUT_MS;
  const answer = await processor.getTransaction(refund.transactionId, { timeoutMs });
  switch (answer.kind) {
    case 'found':
      await recordTransaction(deps, refund, answer.value, readAt);
      await releaseLease(deps, refund, { nextActionAt: deps.clock.now(), fruitlessCount: 0 });
      return 'again';
    case 'not-found':
      return await record(claimed, [failed({ ...answer.failure, code: 'transaction_not_found' })]);
    case 'unavailable':
      return await recordUnavailable(claimed, answer);
    case 'misconfigured':
      return await recordMisconfigured(claimed, answer.failure);
  }
}
