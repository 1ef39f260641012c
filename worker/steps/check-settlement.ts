import type { ProcessorRefund } from '../../shared/processors/processor.ts';
import { claimRefund, releaseLease } from '../../shared/refunds/lease.ts';
import { throttleAccount } from './account-trouble.ts';
import { askPerson, mismatchOf, record, retryPause, settled, settlementPause } from './record.ts';
import { inFuture, referenceTo, type StepContext, type StepResult } from './step.ts';

/** Asks whether a refund that the processor has accepted is through. */
export async function checkSettlement(context: StepContext): Promise<StepResult> {
  const { deps, processor } = context;
  const externalRefundId = context.refund.externalRefundId;
  const refund = await claimRefund(deps, context.refund, 'other');
  if (refund === null || externalRefundId === null) return 'rest';
  const claimed = { ...context, refund };
  const timeoutMs = deps.settings.PROCESSOR_TIMEOUT_MS;
  const answer = await processor.getRefund(externalRefundId, referenceTo(refund), { timeoutMs });
  switch (answer.kind) {
    case 'found':
      return await recordState(claimed, answer.value);
    case 'not-found':
      return await askPerson(
        claimed,
        'settlement.flagged',
        `The processor no longer knows ${externalRefundId}, which it had accepted.`,
      );
    case 'misconfigured':
      return await askPerson(
        claimed,
        'settlement.flagged',
        `The processor refuses the account's credentials: ${answer.failure.message}`,
      );
    case 'unavailable': {
      if (answer.rateLimited) await throttleAccount(deps, context.account, answer.retryAfterMs);
      const fruitlessCount = refund.fruitlessCount + 1;
      const nextActionAt = inFuture(deps, retryPause(deps, fruitlessCount, answer.retryAfterMs));
      await releaseLease(deps, refund, { nextActionAt, fruitlessCount });
      return 'rest';
    }
  }
}

async function recordState(context: StepContext, found: ProcessorRefund): Promise<StepResult> {
  const { deps, refund } = context;
  const problem = mismatchOf(refund, found);
  if (problem !== null) return await askPerson(context, 'settlement.flagged', problem);
  if (found.state !== 'open') return await record(context, [settled(found)]);
  const fruitlessCount = refund.fruitlessCount + 1;
  const nextActionAt = inFuture(deps, settlementPause(deps, fruitlessCount));
  if (found.processorStatus === refund.processorStatus) {
    await releaseLease(deps, refund, { nextActionAt, fruitlessCount });
    return 'rest';
  }
  const { processorStatus } = found;
  const changes = { processorStatus, nextActionAt, fruitlessCount };
  const detail = { processorStatus };
  await record(context, [{ to: 'processing', type: 'settlement.progress', changes, detail }]);
  return 'rest';
}
