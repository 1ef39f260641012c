import { referenceTo } from '../../shared/refunds/model/refund.ts';
import { absent, accepted, misconfigured, unanswered } from './outcomes.ts';
import { record, type StepContext, type StepResult } from './step.ts';

/** Finds out what became of an attempt of unknown outcome. Unknown never becomes failed by itself. */
export async function lookUpRefund(context: StepContext): Promise<StepResult> {
  const { claim, processor, settings } = context;
  const timeoutMs = settings.PROCESSOR_TIMEOUT_MS;
  const answer = await processor.findRefund(referenceTo(claim.refund), { timeoutMs });
  switch (answer.kind) {
    case 'found':
      return await record(context, accepted(context, 'lookup.found', answer.value));
    case 'not-found':
      return await record(context, absent(context));
    case 'unavailable':
      return await record(
        context,
        unanswered(context, 'lookup.unanswered', answer.failure, answer.retryAfterMs),
      );
    case 'payment-not-found':
      return await record(context, unanswered(context, 'lookup.unanswered', answer.failure, null));
    case 'misconfigured': {
      const more = claim.work.retryingSince === null ? { retrying: true } : {};
      return await record(context, misconfigured(context, 'lookup.flagged', answer.failure, more));
    }
  }
}
