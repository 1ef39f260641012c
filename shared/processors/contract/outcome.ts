import { z } from 'zod';
import { redact } from '../../platform/log.ts';
import { DeadlineExceededError } from './calls.ts';
import {
  isNamed,
  type LookupResult,
  type Misconfigured,
  type ProbedAbility,
  type ProbeResult,
  type ProcessorFailure,
  type ProcessorRefund,
  type ReadResult,
  type RefundSubmission,
  type SubmissionResult,
  type Unavailable,
  type UnavailableCause,
  type Unknown,
} from './processor.ts';

/** The meaning of a call that did not succeed, which is also the answer to a cancellation. Each adapter has one function that decides it. */
export type Outcome =
  /** Refused for good, nothing changed. `missing`: the payment or refund does not exist. */
  { kind: 'refused'; failure: ProcessorFailure; missing: boolean } | Unavailable | Unknown | Misconfigured;

/** A read without a result. */
type ReadProblem = Exclude<ReadResult<never>, { kind: 'found' }>;

/** The outcome of an error of our own; null for the errors of an SDK. */
export function ownOutcome(error: unknown): Outcome | null {
  if (error instanceof UnexpectedAnswerError) {
    return { kind: 'unknown', failure: processorFailure(unreadableCode, error.message) };
  }
  if (error instanceof DeadlineExceededError) {
    return { kind: 'unknown', failure: processorFailure('timeout', error.message) };
  }
  return null;
}

/** The code of the failure when a processor has answered, in a way that is not as documented. */
export const unreadableCode = 'unexpected_answer';

/** The outcome of a read. Reads change nothing, so `unknown` becomes `unavailable`. */
export function asReadProblem(outcome: Outcome): ReadProblem {
  const { failure } = outcome;
  switch (outcome.kind) {
    case 'refused':
      // Any other refusal says nothing about what exists.
      return outcome.missing ? { kind: 'not-found', failure } : unavailable('unreachable', failure);
    case 'unknown':
      return unavailable(failure.code === unreadableCode ? 'unreadable' : 'unreachable', failure);
    default:
      return outcome;
  }
}

/** The outcome of a lookup, which names only the payment. */
export function asLookupProblem(outcome: Outcome): Exclude<LookupResult, { kind: 'found' | 'not-found' }> {
  const problem = asReadProblem(outcome);
  return problem.kind === 'not-found' ? { ...problem, kind: 'payment-not-found' } : problem;
}

/** The outcome of a list, which names nothing that could be missing. */
export function asListProblem(outcome: Outcome): ReadProblem {
  const problem = asReadProblem(outcome);
  return problem.kind === 'not-found' ? unavailable('unreachable', problem.failure) : problem;
}

/**
 * The end of the ids that probes name, which no processor gives out.
 * Emulators of processors know ids with `missing` in them as those of nothing.
 */
export const absent = 'missing_connection_test';

/** A second without refunds, so that listing them is one short request. */
export const emptyWindow = { from: new Date('2001-01-01T00:00:00Z'), to: new Date('2001-01-01T00:00:01Z') };

/** What a probe shows: only an answer that misses what does not exist, or lists nothing, proves the permission. */
export function asProbeResult(ability: ProbedAbility, outcome: Outcome | { kind: 'found' }): ProbeResult {
  switch (outcome.kind) {
    case 'found':
      return { kind: 'permitted', ability };
    case 'refused':
      return outcome.missing ? { kind: 'permitted', ability } : unavailable('unreachable', outcome.failure);
    case 'unknown':
      return unavailable('unreachable', outcome.failure);
    case 'misconfigured':
      // There is no object that the credentials might lack access to.
      return outcome.scope === 'credentials' ? outcome : { ...outcome, scope: 'ability', ability };
    default:
      return outcome;
  }
}

/** Converts the outcome of a submission. */
export function asSubmissionResult(outcome: Outcome): SubmissionResult {
  return outcome.kind === 'refused' ? { ...outcome, kind: 'rejected' } : outcome;
}

/** The processor has created a refund; its amount and currency may differ from the requested ones. */
export function submitted(submission: RefundSubmission, refund: ProcessorRefund): SubmissionResult {
  if (refund.refundId !== null && !isNamed(refund, submission)) {
    throw new UnexpectedAnswerError('The processor answered with the refund of another submission.');
  }
  if (refund.amount === submission.amount && refund.currency === submission.currency) {
    return { kind: 'accepted', refund };
  }
  const message =
    `Requested ${submission.amount} minor units of ${submission.currency}, but ` +
    `refund ${refund.id} is ${refund.amount} of ${refund.currency}.`;
  return { kind: 'mismatched', refund, failure: processorFailure('amount_mismatch', message) };
}

/** Nothing was applied, and the call may be repeated. */
export function unavailable(
  cause: UnavailableCause,
  failure: ProcessorFailure,
  retryAfterMs: number | null = null,
): Unavailable {
  return { kind: 'unavailable', cause, failure, retryAfterMs };
}

/** Ids and statuses of a processor, as they may be stored. */
export const recordedId = z.string().regex(/^[A-Za-z0-9_-]{1,255}$/);
export const recordedStatus = z.string().regex(/^[\x20-\x7e]{1,100}$/);

/** A bank's reference, and what it is called, as they may be stored. */
export const recordedReference = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/** A reply that is not as documented. SDKs pass such replies on as a success, so every reply is checked. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
}

/** @throws UnexpectedAnswerError naming the fields that do not fit the schema, without their values. */
export function readAnswer<T>(schema: z.ZodType<T>, reply: unknown): T {
  const checked = schema.safeParse(reply);
  if (checked.success) return checked.data;
  const fields = checked.error.issues.map(({ path }) => path.join('.') || 'the reply');
  throw new UnexpectedAnswerError(`The processor's answer is not as documented: ${fields.join(', ')}.`);
}

const longest = { code: 100, message: 500 };

/**
 * A failure with the processor's code and message. Both are stored, so card numbers and secrets are masked, control
 * characters removed and the length limited.
 */
export function processorFailure(code: string, message: string): ProcessorFailure {
  return { code: presentable(code, longest.code), message: presentable(message, longest.message) };
}

/** @param text may be anything, because the SDKs' types do not check replies. */
function presentable(text: unknown, length: number): string {
  // Cut first, because masking is slow on long texts.
  const words = redact(String(text).slice(0, 10 * length))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const cut = words.length > length ? `${words.slice(0, length - 1)}…` : words;
  // Cutting may leave half of a surrogate pair, which PostgreSQL refuses.
  return cut.replace(/\p{Surrogate}/gu, '\ufffd');
}
