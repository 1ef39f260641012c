import { referenceTo } from '../../shared/refunds/lifecycle/reference.ts';
import { factsOf } from '../../shared/refunds/model/flags.ts';
import { flagged, misconfigured, stateRead, stateUnread } from './outcomes.ts';
import { record, type StepContext, type StepResult } from './step.ts';

/** Reads whether a refund that the processor has accepted is through. */
export async function checkSettlement(context: StepContext): Promise<StepResult> {
  const { claim, processor, settings } = context;
  const { refund } = claim;
  const timeoutMs = settings.PROCESSOR_TIMEOUT_MS;
  const answer = await processor.getRefund(refund.externalRefundId ?? '', referenceTo(refund), { timeoutMs });
  switch (answer.kind) {
    case 'found':
      return await record(context, stateRead(context, answer.value));
    case 'not-found': {
      const flag = { reason: 'missing_there', facts: factsOf(refund, null) } as const;
      return await record(context, flagged(context, 'settlement.flagged', flag));
    }
    case 'misconfigured':
      return await record(context, misconfigured(context, 'settlement.flagged', answer.failure));
    case 'unavailable':
      return await record(context, stateUnread(context, answer));
  }
}
