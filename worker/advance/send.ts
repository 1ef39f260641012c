import { doubtPayments } from '../../shared/payments/payment.ts';
import type { ProcessorFailure, SubmissionResult } from '../../shared/processors/contract/processor.ts';
import { renewLease } from '../../shared/refunds/lifecycle/claim.ts';
import { referenceTo } from '../../shared/refunds/model/refund.ts';
import { accepted, failed, misconfigured, unavailable, unknown } from './outcomes.ts';
import { record, type StepContext, type StepResult } from './step.ts';

/**
 * Sends a refund that surely is not at the processor. The claim has recorded the attempt, and that its outcome is unknown,
 * so that whatever happens from here on, no worker sends again without looking first.
 * @param since when the claim was requested, in the time of `performance.now()`: a process that was frozen since then may have
 * lost its lease, and has no time left to send.
 */
export async function sendRefund(context: StepContext, since: number): Promise<StepResult> {
  const { claim, processor, settings } = context;
  const { id, transactionId, amount, currency, reason } = claim.refund;
  const result = await processor.createRefund(
    {
      refundId: id,
      transactionId,
      amount,
      currency,
      reason,
      idempotencyKey: `${id}-${claim.attempt?.keyVersion ?? 1}`,
    },
    { timeoutMs: settings.PROCESSOR_TIMEOUT_MS, since },
  );
  return await recordSubmission(context, result);
}

/** Records what became of a submission; see the outcomes of `SubmissionResult`. */
async function recordSubmission(context: StepContext, result: SubmissionResult): Promise<StepResult> {
  switch (result.kind) {
    case 'accepted':
    case 'mismatched':
      return await record(context, accepted(context, 'attempt.accepted', result.refund));
    case 'rejected':
      return await recordRejection(context, result.failure);
    case 'unavailable': {
      // Braintree remembers the key of a request that it turned down because the payment had not settled.
      const keySpent = result.failure.code === 'unsettled';
      return await record(context, unavailable(context, result, { outcome: 'unavailable', keySpent }));
    }
    case 'misconfigured':
      return await record(context, credentialsRefused(context, result.failure));
    case 'unknown':
      return await record(context, unknown(context, result.failure, result.answered));
  }
}

/** The attempt was the only one of unknown outcome, or it would not have been made; so a definite answer leaves none. */
export function credentialsRefused(context: Omit<StepContext, 'processor'>, failure: ProcessorFailure) {
  const more = { attempt: { outcome: 'misconfigured' }, isKnown: true } as const;
  return misconfigured(context, 'attempt.misconfigured', failure, more);
}

/**
 * A rejection of the first attempt is final. That of a later one may be about an earlier attempt of ours, which the
 * processor carried out after it could no longer be expected to: "already refunded" by us. So it is looked up.
 */
async function recordRejection(context: StepContext, failure: ProcessorFailure): Promise<StepResult> {
  const { deps, claim, processor, settings } = context;
  if (claim.attempt !== null && claim.attempt.number > 1) {
    if (!(await renewLease(deps, claim))) return 'rest';
    const timeoutMs = settings.PROCESSOR_TIMEOUT_MS;
    const answer = await processor.findRefund(referenceTo(claim.refund), { timeoutMs });
    if (answer.kind === 'found')
      return await record(context, accepted(context, 'lookup.found', answer.value));
    if (answer.kind !== 'not-found') return await record(context, unknown(context, answer.failure, false));
  }
  const result = await record(context, failed(failure, 'rejected'));
  // A rejection often means that the payment is not what we believed.
  await doubtPayments(deps.db, claim.refund, [claim.refund.transactionId]);
  return result;
}
