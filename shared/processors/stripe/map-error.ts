import type Stripe from 'stripe';
import { type Outcome, ownOutcome, processorFailure } from '../contract/outcome.ts';
import type { ProcessorFailure } from '../contract/processor.ts';
import { stripeSdk } from './client.ts';

type StripeError = InstanceType<typeof Stripe.errors.StripeError>;

/** Network errors that happen before a request can have left. */
const notSent: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Complaints about the account or the key that come as an invalid request. */
const accountCodes: ReadonlySet<unknown> = new Set([
  'account_invalid',
  'api_key_expired',
  'livemode_mismatch',
  'platform_api_key_expired',
  'secret_key_required',
  'testmode_charges_only',
]);

/** What an error of a Stripe call means. */
export function outcomeOf(error: unknown): Outcome {
  const own = ownOutcome(error);
  if (own !== null) return own;
  if (!(error instanceof stripeSdk().errors.StripeError)) {
    return { kind: 'unknown', failure: processorFailure('unexpected_error', String(error)), replied: false };
  }
  const failure = failureOf(error);
  // The SDK's type promises its own class names; a string keeps the default case for names to come.
  switch (error.type as string) {
    case 'StripeAuthenticationError':
    case 'StripePermissionError':
      return { kind: 'misconfigured', failure };
    case 'StripeRateLimitError':
      return { kind: 'unavailable', failure, retryAfterMs: retryAfterMs(error), rateLimited: true };
    case 'StripeInvalidRequestError':
      if (accountCodes.has(error.code)) return { kind: 'misconfigured', failure };
      return { kind: 'refused', failure, missing: error.code === 'resource_missing' };
    case 'StripeCardError':
      return { kind: 'refused', failure, missing: false };
    case 'StripeConnectionError':
      if (wasSent(error)) return { kind: 'unknown', failure, replied: false };
      return { kind: 'unavailable', failure, retryAfterMs: null, rateLimited: false };
    default:
      return { kind: 'unknown', failure, replied: hasReplied(error) };
  }
}

/** False only when the connection was never made. */
function wasSent(error: StripeError): boolean {
  const { code, syscall } = networkError(error);
  return !notSent.has(code) && syscall !== 'connect' && syscall !== 'getaddrinfo';
}

/** The HTTP client wraps the network's error in one of its own. */
function networkError(error: StripeError): { code?: unknown; syscall?: unknown } {
  const detail: unknown = error.detail;
  const cause = detail instanceof Error ? (detail.cause ?? detail) : detail;
  return typeof cause === 'object' && cause !== null ? cause : {};
}

/**
 * True when Stripe itself reported the end of the request. A status comes only with Stripe's own JSON; 409 says that
 * a request with the same key still runs, and 502 and 504 come from whoever lost sight of it.
 */
function hasReplied({ statusCode, code }: StripeError): boolean {
  if (statusCode === undefined || code === 'idempotency_key_in_use') return false;
  return ![409, 502, 504].includes(statusCode);
}

function retryAfterMs({ headers }: StripeError): number | null {
  const header: unknown = headers?.['retry-after'];
  if (typeof header !== 'string' || header.trim() === '') return null;
  const delayMs = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(delayMs) ? null : Math.max(0, delayMs);
}

function failureOf(error: StripeError): ProcessorFailure {
  if (error.type === 'StripeConnectionError') {
    const { code } = networkError(error);
    const suffix = typeof code === 'string' ? ` (${code})` : '';
    return processorFailure(
      code === 'ETIMEDOUT' ? 'timeout' : 'connection_error',
      `${error.message}${suffix}`,
    );
  }
  return processorFailure(codeOf(error), error.message || `Stripe answered with ${error.type}.`);
}

/** Stripe's code; where the service has a word of its own for the same at every processor, that word. */
function codeOf({ code, param, message, rawType, type }: StripeError): string {
  if (code === 'charge_already_refunded') return 'already_refunded';
  // Which code Stripe uses for more than what is left is not documented, but the parameter and the words are.
  if (param === 'amount' && (code === undefined || /greater than (the )?unrefunded amount/i.test(message))) {
    return 'amount_too_large';
  }
  return code ?? rawType ?? type;
}
