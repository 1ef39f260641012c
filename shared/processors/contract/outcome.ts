import { UnexpectedAnswerError } from './answer.ts';
import { DeadlineExceededError } from './deadline.ts';
import { processorFailure } from './failure.ts';
import type {
  CancelResult,
  LookupResult,
  ProcessorFailure,
  ProcessorRefund,
  ReadResult,
  RefundSubmission,
  SubmissionResult,
} from './processor.ts';

/** What a call that did not succeed means, whatever the call was; each adapter has one function that says so. */
export type Outcome =
  /** Refused for good, nothing changed. `missing`: what was named does not exist. */
  | { kind: 'refused'; failure: ProcessorFailure; missing: boolean }
  /** Surely without effect, worth trying again. */
  | { kind: 'unavailable'; failure: ProcessorFailure; retryAfterMs: number | null; rateLimited: boolean }
  /** May have had its effect. */
  | { kind: 'unknown'; failure: ProcessorFailure; answered: boolean }
  /** The account or its credentials are refused, nothing changed. */
  | { kind: 'misconfigured'; failure: ProcessorFailure };

/** A read that found nothing. */
export type ReadProblem = Exclude<ReadResult<never>, { kind: 'found' }>;

/** The outcome of what is detected on this side of the wire; null for the errors of an SDK. */
export function ownOutcome(error: unknown): Outcome | null {
  if (error instanceof UnexpectedAnswerError) {
    return {
      kind: 'unknown',
      failure: processorFailure('unexpected_answer', error.message),
      answered: true,
    };
  }
  if (error instanceof DeadlineExceededError) {
    return { kind: 'unknown', failure: processorFailure('timeout', error.message), answered: false };
  }
  return null;
}

/** An outcome of a read. Reads change nothing, so what is unknown of a write is only unavailable here. */
export function asReadProblem(outcome: Outcome): ReadProblem {
  const { failure } = outcome;
  switch (outcome.kind) {
    case 'refused':
      // Only a plain "it does not exist" is one; any other refusal says nothing about what exists.
      return outcome.missing ? { kind: 'not-found', failure } : unavailable(failure);
    case 'unavailable':
      return outcome;
    case 'unknown':
      return unavailable(failure);
    case 'misconfigured':
      return outcome;
  }
}

/** The same for a lookup, which names nothing but the payment. */
export function asLookupProblem(outcome: Outcome): Exclude<LookupResult, { kind: 'found' | 'not-found' }> {
  const problem = asReadProblem(outcome);
  return problem.kind === 'not-found' ? { ...problem, kind: 'payment-not-found' } : problem;
}

/** The same for a list, which names nothing that could be missing. */
export function asListProblem(outcome: Outcome): ReadProblem {
  const problem = asReadProblem(outcome);
  return problem.kind === 'not-found' ? unavailable(problem.failure) : problem;
}

/** An outcome of a submission. */
export function asSubmissionResult(outcome: Outcome): SubmissionResult {
  return outcome.kind === 'refused' ? { kind: 'rejected', failure: outcome.failure } : outcome;
}

/** An outcome of a cancellation. */
export function asCancelResult(outcome: Outcome): CancelResult {
  return outcome.kind === 'refused' ? { kind: 'refused', failure: outcome.failure } : outcome;
}

/** The processor has made a refund: the one that was asked for, or another. */
export function submitted(submission: RefundSubmission, refund: ProcessorRefund): SubmissionResult {
  if (refund.refundId !== null && refund.refundId !== submission.refundId) {
    throw new UnexpectedAnswerError('The processor answered with the refund of another submission.');
  }
  if (refund.amount === submission.amount && refund.currency === submission.currency) {
    return { kind: 'accepted', refund };
  }
  const message =
    `Asked were ${submission.amount} minor units of ${submission.currency}, ` +
    `refund ${refund.id} is ${refund.amount} of ${refund.currency}.`;
  return { kind: 'mismatched', refund, failure: processorFailure('amount_mismatch', message) };
}

/** Nothing is known beyond that the answer could not be had. */
export function unavailable(
  failure: ProcessorFailure,
  retryAfterMs: number | null = null,
): Extract<Outcome, { kind: 'unavailable' }> {
  return { kind: 'unavailable', failure, retryAfterMs, rateLimited: false };
}
