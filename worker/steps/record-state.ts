import { isLive, type ProcessorRefund } from '../../shared/processors/processor.ts';
import { hasOwnFlag } from '../../shared/refunds/flag.ts';
import { releaseLease } from '../../shared/refunds/lease.ts';
import { askPerson, mismatchOf, record, settled, settlementPause } from './record.ts';
import { inFuture, type StepContext, type StepResult } from './step.ts';

/**
 * Writes down what a refund at the processor has become. One that moved another amount than was asked is never called
 * completed; one that moved nothing has ended, whatever amount it was made for.
 */
export async function recordState(context: StepContext, found: ProcessorRefund): Promise<StepResult> {
  if (!isLive(found)) return await record(context, [settled(found)]);
  const problem = mismatchOf(context.refund, found);
  if (problem !== null) return await askPerson(context, 'settlement.flagged', problem);
  if (found.state === 'completed') return await record(context, [settled(found)]);
  return await recordOpen(context, found);
}

/** Not settled yet: told in the timeline only when something is new. */
async function recordOpen(context: StepContext, { processorStatus }: ProcessorRefund): Promise<StepResult> {
  const { deps, refund } = context;
  const fruitlessCount = refund.fruitlessCount + 1;
  const nextActionAt = inFuture(deps, settlementPause(deps, fruitlessCount));
  if (processorStatus === refund.processorStatus && !hasOwnFlag(refund)) {
    await releaseLease(deps, refund, { nextActionAt, fruitlessCount, retryingSince: null });
    return 'rest';
  }
  const answered = { retryingSince: null, flaggedAt: null, flagReason: null };
  const changes = { processorStatus, nextActionAt, fruitlessCount, ...answered };
  const detail = { processorStatus };
  await record(context, [{ to: 'processing', type: 'settlement.progress', changes, detail }]);
  return 'rest';
}
