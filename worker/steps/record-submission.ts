import { noteTrouble } from '../../shared/accounts/account-trouble.ts';
import { databaseNow } from '../../shared/db.ts';
import type { ProcessorFailure, SubmissionResult } from '../../shared/processors/processor.ts';
import { renewLease } from '../../shared/refunds/lease.ts';
import { referenceTo } from '../../shared/refunds/reference.ts';
import type { RefundChanges } from '../../shared/refunds/transition.ts';
import { forgetTransactions } from '../../shared/transactions/forget-transactions.ts';
import { failed, record, recordAccepted, retryPause, stillUnknown } from './record.ts';
import { inFuture, type StepContext, type StepResult } from './step.ts';
import { recordMisconfigured, recordUnavailable } from './unsent.ts';

/** Writes down what became of a submission; see the outcomes of `SubmissionResult`. */
export async function recordSubmission(context: StepContext, result: SubmissionResult): Promise<StepResult> {
  switch (result.kind) {
    case 'accepted':
    case 'mismatched':
      return await recordAccepted(context, 'attempt.accepted', result.refund);
    case 'rejected':
      return await recordRejection(context, result.failure);
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

/**
 * A rejection of the first attempt is final. That of a later one may be about an earlier attempt of ours, which the
 * processor carried out after it could no longer be expected to: "already refunded" by us. So it is looked for.
 */
async function recordRejection(context: StepContext, failure: ProcessorFailure): Promise<StepResult> {
  const { deps, refund, processor } = context;
  if (refund.attemptCount > 1) {
    if (!(await renewLease(deps, refund))) return 'rest';
    const timeoutMs = deps.settings.PROCESSOR_TIMEOUT_MS;
    const answer = await processor.findRefund(referenceTo(refund), { timeoutMs });
    if (answer.kind === 'found') return await recordAccepted(context, 'lookup.found', answer.value);
    if (answer.kind !== 'not-found') {
      const { failure } = answer;
      // What else is worth noting is written after the outcome, which must not be lost for it.
      const result = await recordUnknown(context, { kind: 'unknown', failure, answered: false });
      await noteTrouble(deps, context.account, answer);
      return result;
    }
  }
  const result = await record(context, [failed(failure, { lastOutcome: 'rejected' })]);
  // A rejection often means that the payment is not what we believed.
  await forgetTransactions(deps.db, deps.clock, refund, [refund.transactionId]);
  return result;
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
  const attemptEndedAt = await databaseNow(deps.db);
  const changes = {
    attemptAnswered: answered,
    attemptEndedAt,
    fruitlessCount,
    nextActionAt: inFuture(deps, retryPause(deps, fruitlessCount)),
    ...stillUnknown(context, failure),
  };
  return await record(context, [
    {
      to: 'processing',
      type: 'attempt.unknown',
      changes,
      // The settle delay counts from here; the writing may take longer.
      detail: { ...failure, endedAt: attemptEndedAt.toISOString() },
    },
  ]);
}
