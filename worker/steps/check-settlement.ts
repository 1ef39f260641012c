import { claimRefund, releaseLease } from '../../shared/refunds/lease.ts';
import { clearMisconfigured, throttleAccount } from './account-trouble.ts';
import { askPerson, retryPause } from './record.ts';
import { recordState } from './record-state.ts';
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
    case 'found': {
      const result = await recordState(claimed, answer.value);
      await clearMisconfigured(deps, context.account);
      return result;
    }
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
