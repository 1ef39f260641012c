import { markMisconfigured, throttleAccount } from '../../shared/accounts/account-trouble.ts';
import type { ProcessorRefund, ReadResult } from '../../shared/processors/processor.ts';
import { claimRefund, releaseLease } from '../../shared/refunds/lease.ts';
import { referenceTo } from '../../shared/refunds/reference.ts';
import { accountUnusable, askPerson, record, retryPause, stillUnknown } from './record.ts';
import { recordState } from './record-state.ts';
import { inFuture, type StepContext, type StepResult } from './step.ts';

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
      await markMisconfigured(deps, context.account, answer.failure);
      return await askPerson(claimed, 'settlement.flagged', accountUnusable(answer.failure));
    case 'unavailable':
      if (answer.rateLimited) await throttleAccount(deps, context.account, answer.retryAfterMs);
      return await recordUnanswered(claimed, answer);
  }
}

/** Asked again with growing pauses; told in the timeline only when it has lasted for so long that a person has to look. */
async function recordUnanswered(
  context: StepContext,
  { failure, retryAfterMs }: Extract<ReadResult<ProcessorRefund>, { kind: 'unavailable' }>,
): Promise<StepResult> {
  const { deps, refund } = context;
  const fruitlessCount = refund.fruitlessCount + 1;
  const nextActionAt = inFuture(deps, retryPause(deps, fruitlessCount, retryAfterMs));
  const { retryingSince, ...flagged } = stillUnknown(context, failure);
  if (flagged.flaggedAt === undefined) {
    await releaseLease(deps, refund, { nextActionAt, fruitlessCount, retryingSince });
  } else {
    const changes = { ...flagged, nextActionAt, fruitlessCount, retryingSince };
    await record(context, [
      { to: 'processing', type: 'settlement.flagged', changes, detail: { ...failure } },
    ]);
  }
  return 'rest';
}
