import type { Transaction } from '../../shared/db.ts';
import { claimRefund, releaseLease } from '../../shared/refunds/lease.ts';
import { recordTransaction } from '../../shared/transactions/record-transaction.ts';
import { failed, record, retryPause } from './record.ts';
import { inFuture, type StepContext, type StepResult } from './step.ts';
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
      return await goOn(claimed, await recordTransaction(deps, refund, answer.value, readAt));
    case 'not-found':
      return await record(claimed, [failed({ ...answer.failure, code: 'transaction_not_found' })]);
    case 'unavailable':
      return await recordUnavailable(claimed, answer);
    case 'misconfigured':
      return await recordMisconfigured(claimed, answer.failure);
  }
}

/**
 * Lets the refund go on, unless it does not fit and has failed. A payment whose amount could not be stored would be read
 * in a loop, so it is read again after a pause.
 */
async function goOn({ deps, refund }: StepContext, payment: Transaction): Promise<StepResult> {
  if (payment.amount !== null) {
    await releaseLease(deps, refund, { nextActionAt: deps.clock.now(), fruitlessCount: 0 });
    return 'again';
  }
  const fruitlessCount = refund.fruitlessCount + 1;
  const nextActionAt = inFuture(deps, retryPause(deps, fruitlessCount));
  await releaseLease(deps, refund, { nextActionAt, fruitlessCount });
  return 'rest';
}
