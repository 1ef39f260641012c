import { z } from 'zod';
import { redact } from '../../platform/log.ts';
import { DeadlineExceededError } from './calls.ts';
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
  | { kind: 'unknown'; failure: ProcessorFailure; replied: boolean }
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
      replied: true,
    };
  }
  if (error instanceof DeadlineExceededError) {
    return { kind: 'unknown', failure: processorFailure('timeout', error.message), replied: false };
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

/** An id or a status that a processor gives and that goes on record. */
export const recordedId = z.string().regex(/^[A-Za-z0-9_-]{1,255}$/);
export const recordedStatus = z.string().regex(/^[\x20-\x7e]{1,100}$/);

/**
 * The processor replied something that is not what was asked for. SDKs pass such replies on as a success, so every
 * reply is checked for what the service relies on.
 */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
}

/**
 * Checks a reply.
 * @throws UnexpectedAnswerError naming the fields that are not as they should be, without their values.
 */
export function readAnswer<T>(schema: z.ZodType<T>, reply: unknown): T {
  const checked = schema.safeParse(reply);
  if (checked.success) return checked.data;
  const fields = checked.error.issues.map(({ path }) => path.join('.') || 'the reply');
  throw new UnexpectedAnswerError(`The processor's answer is not as documented: ${fields.join(', ')}.`);
}

const longest = { code: 100, message: 500 };

/**
 * A failure in the processor's code and words. Both come from outside and go on record, so card numbers and secrets
 * are masked in them, what cannot be printed is left out, and the length is limited.
 */
export function processorFailure(code: string, message: string): ProcessorFailure {
  return { code: presentable(code, longest.code), message: presentable(message, longest.message) };
}

/** @param text whatever its type says: a processor's answer may hold anything in its place. */
function presentable(text: unknown, length: number): string {
  // Cut generously first: nobody reads the rest, and masking takes its time.
  const words = redact(String(text).slice(0, 10 * length))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const cut = words.length > length ? `${words.slice(0, length - 1)}…` : words;
  // Half of a surrogate pair, which cutting may leave, is no text to PostgreSQL.
  return cut.replace(/\p{Surrogate}/gu, '\ufffd');
}
