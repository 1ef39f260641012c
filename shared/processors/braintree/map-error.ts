import {
  type Outcome,
  ownOutcome,
  processorFailure,
  unavailable,
  unreadableCode,
} from '../contract/outcome.ts';
import type { Unknown } from '../contract/processor.ts';
import { type BraintreeRefusal, declineOf, mapStatus } from './replies.ts';

const hourMs = 60 * 60 * 1000;

/** Errors for a connection that was never made: of a proxy, or of Node, an AggregateError if the host has several addresses. */
const notSent =
  /^Unexpected request error: (ProxyError|AggregateError|.*(connect (ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)|getaddrinfo ))/;

/** The meaning of an exception of a call. The SDK's exceptions have a type and a message, and no status. */
export function outcomeOf(error: unknown): Outcome {
  const own = ownOutcome(error);
  if (own !== null) return own;
  const { type, message } = sdkError(error);
  // An error without a type comes from parsing a reply.
  if (type === null) {
    return { kind: 'unknown', failure: processorFailure(unreadableCode, message) };
  }
  const failure = processorFailure(type, `Braintree: ${message}.`);
  switch (type) {
    case 'authenticationError':
    case 'upgradeRequired':
      return { kind: 'misconfigured', scope: 'credentials', failure };
    // The role of the API user lacks a permission.
    case 'authorizationError':
      return { kind: 'misconfigured', scope: 'ability', failure };
    case 'notFoundError':
      return { kind: 'refused', failure, missing: true };
    case 'tooManyRequestsError':
      return unavailable('rate_limited', failure);
    case 'unexpectedError':
      if (notSent.test(message)) return unavailable('unreachable', failure);
      return { kind: 'unknown', failure };
    default:
      return { kind: 'unknown', failure };
  }
}

/** The validation codes that are not plain refusals, from the SDK's list of them. */
const meanings: ReadonlyMap<string, (message: string) => Outcome> = new Map([
  ['91506', unsettled],
  ['91574', unsettled],
  ['91512', (message: string) => refused('already_refunded', message)],
  ['91521', (message: string) => refused('amount_too_large', message)],
  // The account cannot use request keys, which its credentials say that it can.
  ['915231', (message: string) => misconfigured('915231', message, 'ability')],
  // The merchant account of this payment, one of many, is suspended or pending, or does not support refunds.
  ...['91538', '91547', '91559'].map(
    (code) => [code, (message: string) => misconfigured(code, message, 'object')] as const,
  ),
  // A request with this key is in progress and may still succeed.
  ['915233', (message: string) => unknown('915233', message)],
  // The key was used before. This call did nothing; the outcome of the first call is unknown.
  ...['915232', '915234', '915235'].map(
    (code) =>
      [code, (message: string) => ({ ...unknown(code, message), keyRefused: true }) as const] as const,
  ),
]);

/** The bank declined the refund, hard or soft: the transaction has the bank's own code and words. */
const declineCodes: ReadonlySet<string> = new Set(['915200', '915201']);

/** The meaning of a refused request: by its validation errors, else by the declined transaction. */
export function outcomeOfRefusal({ message, errors, transaction }: BraintreeRefusal): Outcome {
  const outcomes = errors.map((error) => meanings.get(error.code)?.(error.message) ?? null);
  const isKind = (kind: Outcome['kind']) => (outcome: Outcome | null) => outcome?.kind === kind;
  const worst = outcomes.find(isKind('unknown')) ?? outcomes.find(isKind('misconfigured'));
  if (worst) return worst;
  // Waiting for settlement only helps when nothing else is wrong.
  const [first] = outcomes;
  if (first && outcomes.every(isKind('unavailable'))) return first;
  const [error] = errors;
  const isDeclined = transaction !== null && errors.some(({ code }) => declineCodes.has(code));
  if (isDeclined) return { kind: 'refused', failure: declineOf(transaction, message), missing: false };
  if (error !== undefined) return outcomes.find(isKind('refused')) ?? refused(error.code, error.message);
  if (transaction === null) return refused('rejected', message);
  if (mapStatus(transaction.status) !== 'failed') return unknown(transaction.status, message);
  return { kind: 'refused', failure: declineOf(transaction, message), missing: false };
}

/** A partial refund of a payment that has not settled yet. */
export function unsettled(): Outcome {
  const message =
    'The payment has not settled yet; Braintree refunds part of a payment only after that, usually within a day.';
  return unavailable('payment_unsettled', processorFailure('unsettled', message), hourMs);
}

function refused(code: string, message: string): Outcome {
  return { kind: 'refused', failure: processorFailure(code, message), missing: false };
}

function misconfigured(code: string, message: string, scope: 'ability' | 'object'): Outcome {
  return { kind: 'misconfigured', scope, failure: processorFailure(code, message) };
}

function unknown(code: string, message: string): Unknown {
  return { kind: 'unknown', failure: processorFailure(code, message) };
}

function sdkError(error: unknown): { type: string | null; message: string } {
  if (!(error instanceof Error)) return { type: null, message: String(error) };
  const type = 'type' in error && typeof error.type === 'string' ? error.type : null;
  return { type, message: error.message };
}
