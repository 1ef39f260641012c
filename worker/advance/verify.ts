import { recordPayment } from '../../shared/refunds/lifecycle/record-payment.ts';
import { failed, misconfigured, retryPause, unavailable } from './outcomes.ts';
import { record, type StepContext, type StepResult } from './step.ts';

/** Reads the payment of a refund that was accepted while its processor could not be asked; sends nothing. */
export async function verifyPayment(context: StepContext): Promise<StepResult> {
  const { deps, claim, processor, settings } = context;
  const { refund, work } = claim;
  const timeoutMs = settings.PROCESSOR_TIMEOUT_MS;
  const answer = await processor.getTransaction(refund.transactionId, { timeoutMs });
  switch (answer.kind) {
    case 'found': {
      const payment = await recordPayment(deps.db, refund, answer.value, claim.now);
      if (payment.amount !== null) {
        // The refund goes on, unless it did not fit and has failed, so that its lease is gone.
        return await record(context, { moves: [], dueInMs: 0, consecutiveFailures: 0 });
      }
      // A payment whose amount could not be stored would be read in a loop, so it is read again after a pause.
      const consecutiveFailures = work.consecutiveFailures + 1;
      const dueInMs = retryPause(context, consecutiveFailures);
      return await record(context, { moves: [], dueInMs, consecutiveFailures });
    }
    case 'not-found':
      return await record(context, failed({ ...answer.failure, code: 'transaction_not_found' }));
    case 'unavailable':
      return await record(context, unavailable(context, answer));
    case 'misconfigured':
      return await record(
        context,
        misconfigured(context, 'attempt.misconfigured', answer.failure, { isKnown: true }),
      );
  }
}
