import type { Dependencies } from '#shared/dependencies.ts';
import type {
  Processor,
  ProcessorFailure,
  ProcessorRefund,
  ReadResult,
} from '#shared/processors/contract/processor.ts';
import { currencyProblem, recordPayment } from '#shared/refunds/changes/record-payment.ts';
import { renewLease } from '#shared/refunds/changes/work.ts';
import type { RefundStep } from '#shared/refunds/lifecycle/statements.ts';
import type { StepResult } from '#shared/refunds/lifecycle/step-result.ts';
import { factsOf, flagOf } from '#shared/refunds/model/flags.ts';
import { referenceTo, refundOptionsOf } from '#shared/refunds/model/refund.ts';
import {
  accepted,
  credentialsRefused,
  type OutcomeContext,
  paymentMissing,
  paymentStored,
  type Refusal,
  refusal,
  settlementFlagged,
  stateRead,
} from './outcomes.ts';
import { reviewRefund } from './review.ts';
import { absent, cancelUnconfirmed, stateUnread, unanswered, unavailable, unknown } from './unanswered.ts';

// Each step calls the processor and returns what it has come to; advance-refund.ts records it.

/** What a step works on: a refund under its worker's lease, and the processor of its account. */
export interface StepContext extends OutcomeContext {
  deps: Dependencies;
  processor: Processor;
  /** For its calls. */
  options: { timeoutMs: number };
}

/**
 * Reads and stores the payment of a refund that was accepted while its processor was unreachable. Sends nothing. When the payment cannot
 * be refunded, or not in this currency, the refund fails: Stripe would cancel a payment that is not captured, and refund the amount in
 * the currency of the payment.
 */
async function verifyPayment(context: StepContext): Promise<StepResult> {
  const { deps, claim, processor, options } = context;
  const { refund } = claim;
  const answer = await processor.getPayment(refund.transactionId, options);
  switch (answer.kind) {
    case 'found': {
      const problem = answer.value.unrefundable ?? currencyProblem(refund, answer.value);
      if (problem !== null) return { kind: 'failed', attempt: 'rejected', failure: problem };
      return paymentStored(context, await recordPayment(deps.db, refund, answer.value, claim.now));
    }
    case 'not-found':
      // After refused credentials, these may be those of another account.
      if (flagOf(claim.work)?.reason === 'account_unusable') return paymentMissing(context, answer.failure);
      return {
        kind: 'failed',
        attempt: 'rejected',
        failure: { ...answer.failure, code: 'transaction_not_found' },
      };
    case 'ambiguous':
      return { kind: 'failed', attempt: 'rejected', failure: answer.failure };
    case 'unavailable':
      return unavailable(context, answer);
    case 'misconfigured':
      return credentialsRefused(context, answer);
  }
}

/**
 * Sends a refund that is not at the processor. The claim has counted the attempt and marked its outcome as unknown, so no worker sends
 * again without a lookup, even if this one is killed.
 *
 * The deadline of the call counts from the request of the claim, so that a process that was suspended, and may have lost its
 * lease, does not send.
 */
async function sendRefund(context: StepContext): Promise<StepResult | null> {
  const { claim, processor, options } = context;
  const reference = referenceTo(claim.refund, claim.externalPaymentId);
  const idempotencyKey = `${reference.requestDigest ?? reference.refundId}-${claim.work.idempotencyKeyVersion}`;
  const metadata = claim.work.sentMetadata as Record<string, string> | null;
  const result = await processor.createRefund(
    {
      ...reference,
      organizationId: claim.refund.organizationId,
      reason: claim.refund.reason,
      metadata,
      options: refundOptionsOf(claim.refund),
      idempotencyKey,
    },
    { ...options, since: claim.since },
  );
  switch (result.kind) {
    case 'accepted':
    case 'mismatched':
      return accepted(context, 'attempt.accepted', result.refund);
    case 'rejected':
      return result.missing === true
        ? paymentMissing(context, result.failure)
        : await rejected(context, result.failure);
    case 'unavailable':
      return unavailable(context, result);
    case 'misconfigured':
      return credentialsRefused(context, result);
    case 'unknown':
      return unknown(context, result);
  }
}

/**
 * A rejection of the first attempt is final. A later one may be about an earlier attempt that the processor applied after all
 * ("already refunded", by us), so the refund is looked up.
 */
async function rejected(context: StepContext, failure: ProcessorFailure): Promise<StepResult | null> {
  const { deps, claim, processor, options } = context;
  if (claim.work.attemptNumber > 1) {
    if (!(await renewLease(deps, claim))) return null;
    const answer = await processor.findRefund(referenceTo(claim.refund, claim.externalPaymentId), options);
    if (answer.kind === 'found') return accepted(context, 'lookup.found', answer.value);
    if (answer.kind !== 'not-found') return unknown(context, { failure: answer.failure });
  }
  // A rejection often means that the payment has changed.
  return { kind: 'failed', attempt: 'rejected', failure, isPaymentStale: true };
}

/**
 * Looks up an attempt of unknown outcome. The refund fails only where the processor has it as failed, or where it is not found after the
 * settle delay and the retry deadline has passed.
 */
async function lookUpRefund(context: StepContext): Promise<StepResult> {
  const { claim, processor, options } = context;
  const answer = await processor.findRefund(referenceTo(claim.refund, claim.externalPaymentId), options);
  switch (answer.kind) {
    case 'found':
      return accepted(context, 'lookup.found', answer.value);
    case 'not-found':
      return absent(context);
    case 'unavailable':
      return unanswered(context, 'lookup.unanswered', answer.failure, answer.retryAfterMs);
    case 'payment-not-found':
      return unanswered(context, 'lookup.unanswered', answer.failure, null);
    case 'misconfigured':
      return { kind: 'lookup_refused', ...refusal(context, answer) };
  }
}

/** Reads whether a refund that the processor has accepted is settled. */
async function checkSettlement(context: StepContext): Promise<StepResult> {
  const { claim, processor, options } = context;
  const { refund } = claim;
  return settlement(
    context,
    await processor.getRefund(
      refund.externalRefundId ?? '',
      referenceTo(refund, claim.externalPaymentId),
      options,
    ),
  );
}

function settlement(context: StepContext, answer: ReadResult<ProcessorRefund>): StepResult {
  switch (answer.kind) {
    case 'found':
      return stateRead(context, answer.value);
    case 'not-found': {
      const facts = factsOf(context.claim.refund, null);
      return settlementFlagged(context, { reason: 'missing_there', facts });
    }
    case 'misconfigured': {
      const refused = refusal(context, answer);
      return { kind: 'flagged', by: 'settlement.flagged', waitingFor: 'credentials', ...refused };
    }
    case 'unavailable':
      return stateUnread(context, answer);
  }
}

/**
 * Cancels a refund that the processor has. Only the processor's confirmation makes it cancelled. After any other answer the
 * refund is read, so that one that has settled meanwhile is not delayed by its cancellation. An account that cannot read it has not
 * refused the cancellation, which is repeated.
 */
async function cancelAtProcessor(context: StepContext): Promise<StepResult> {
  const { claim, processor, options } = context;
  const { refund } = claim;
  const externalRefundId = refund.externalRefundId ?? '';
  // The lease has to last for both calls.
  const timeoutMs = Math.ceil(options.timeoutMs / 2);
  const reference = referenceTo(refund, claim.externalPaymentId);
  const answer = await processor.cancelRefund(externalRefundId, reference, { timeoutMs });
  if (answer.kind === 'cancelled')
    return { kind: 'settled', to: 'cancelled', found: answer.refund, by: null };
  const reading = await processor.getRefund(externalRefundId, reference, { timeoutMs });
  if (reading.kind === 'unavailable') return cancelUnconfirmed(context, answer, {});
  const isOpen = reading.kind === 'found' && reading.value.state === 'open';
  return isOpen ? cancelUnconfirmed(context, answer, reading.value) : settlement(context, reading);
}

/** What a step does, and what it has come to when that fails. */
interface Step {
  /** Calls the processor. Null when the lease was lost and there is nothing to record. */
  take(context: StepContext): Promise<StepResult | null>;
  /** The processor was not called, because the credentials cannot be used. */
  uncalled(context: OutcomeContext, unusable: Refusal): StepResult;
  /** It failed on our side: what was sent may have arrived. */
  failed(context: OutcomeContext, failure: ProcessorFailure): StepResult;
}

/** All steps that call the processor. */
export const steps: Record<Exclude<RefundStep, 'cancel'>, Step> = {
  verify: { take: verifyPayment, uncalled: credentialsRefused, failed: unread },
  send: {
    take: sendRefund,
    uncalled: credentialsRefused,
    failed: (context, failure) => unknown(context, { failure }),
  },
  look_up: {
    take: lookUpRefund,
    uncalled: flaggedUnusable,
    failed: (context, failure) => unanswered(context, 'lookup.unanswered', failure, null),
  },
  settle: { take: checkSettlement, uncalled: flaggedUnusable, failed: unread },
  cancel_at_processor: {
    take: cancelAtProcessor,
    uncalled: flaggedUnusable,
    failed: (context, failure) => unanswered(context, 'cancel.unanswered', failure, null),
  },
  review: {
    take: reviewRefund,
    uncalled: ({ settings }) => ({ kind: 'unchanged', dueInMs: settings.MISCONFIGURED_RETRY_MS }),
    failed: unread,
  },
};

function unread(context: OutcomeContext, failure: ProcessorFailure): StepResult {
  return stateUnread(context, { cause: 'unreadable', failure, retryAfterMs: null });
}

function flaggedUnusable(context: OutcomeContext, unusable: Refusal): StepResult {
  const flagged = { kind: 'flagged', by: 'attempt.misconfigured', waitingFor: 'credentials' } as const;
  return { ...flagged, ...refusal(context, unusable) };
}

/** The result of a step whose account has unusable credentials. */
export function accountUnusable(
  context: OutcomeContext,
  step: keyof typeof steps,
  message: string,
): StepResult {
  const failure = { code: 'credentials_unusable', message };
  return steps[step].uncalled(context, { scope: 'credentials', failure });
}

/** The result of a step that failed on our side. */
export function stepFailed(context: OutcomeContext): StepResult {
  const { step } = context.claim;
  const message = "The processor's answer could not be recorded. See the worker log.";
  const failed = step === 'cancel' ? unread : steps[step].failed;
  return failed(context, { code: 'step_failed', message });
}
