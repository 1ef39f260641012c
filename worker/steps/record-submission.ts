import { databaseNow } from '../../shared/db.ts';
import type { ProcessorFailure, SubmissionResult } from '../../shared/processors/processor.ts';
import type { RefundChanges } from '../../shared/refunds/transition.ts';
import { pickTransactionKey } from '../../shared/transactions/reservation.ts';
import { clearMisconfigured } from './account-trouble.ts';
import { failed, overdueFlag, record, recordAccepted, retryPause } from './record.ts';
import { inFuture, type StepContext, type StepResult } from './step.ts';
import { recordMisconfigured, recordUnavailable } from './unsent.ts';

/** Writes down what became of a submission; see the outcomes of `SubmissionResult`. */
export async function recordSubmission(context: StepContext, result: SubmissionResult): Promise<StepResult> {
  switch (result.kind) {
    case 'accepted':
    case 'mismatched':
      await clearMisconfigured(context.deps, context.account);
      return await recordAccepted(context, 'attempt.accepted', result.refund);
    case 'rejected':
      await forgetTransaction(context);
      return await record(context, [failed(result.failure, { lastOutcome: 'rejected' })]);
    case 'unavailable':
      return await recordUnavailable(context, result, {
        ...notApplied,
        lastOutcome: 'unavailable',
        keySeries: keySeriesAfter(context, result.failure),
      });
    case 'misconfigured':
      return await recordMisconfigured(context, result.failure, {
        ...notApplied,
        lastOutcome: 'misconfigured',
      });
    case 'unknown':
      return await recordUnknown(context, result);
  }
}

/** The attempt was the only one of unknown fate, or it would not have been sent; so a definite answer leaves none. */
const notApplied: RefundChanges = { unknownSince: null, attemptAnswered: false };

/**
 * Braintree remembers the key of a request that it turned down because the payment had not settled, and would turn
 * every later one down for its key.
 */
function keySeriesAfter({ refund }: StepContext, failure: ProcessorFailure): number {
  return failure.code === 'unsettled' ? refund.keySeries + 1 : refund.keySeries;
}

async function recordUnknown(
  context: StepContext,
  { failure, answered }: Extract<SubmissionResult, { kind: 'unknown' }>,
): Promise<StepResult> {
  const { deps, refund } = context;
  const fruitlessCount = refund.fruitlessCount + 1;
  const changes = {
    attemptAnswered: answered,
    attemptEndedAt: await databaseNow(deps.db),
    fruitlessCount,
    nextActionAt: inFuture(deps, retryPause(deps, fruitlessCount)),
    ...overdueFlag(context, failure),
  };
  return await record(context, [
    { to: 'processing', type: 'attempt.unknown', changes, detail: { ...failure } },
  ]);
}

/** A rejection often means that the payment is not what we believed, so it is read again before the next refund. */
async function forgetTransaction({ deps, refund }: StepContext): Promise<void> {
  await deps.db.transaction.updateMany({
    where: pickTransactionKey(refund),
    data: { fetchedAt: null },
  });
}
