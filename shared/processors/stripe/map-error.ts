import type Stripe from 'stripe';
import { type Outcome, ownOutcome, processorFailure, unavailable } from '../contract/outcome.ts';
import type { ProcessorFailure } from '../contract/processor.ts';
import { stripeSdk } from './client.ts';

type StripeError = InstanceType<typeof Stripe.errors.StripeError>;

/** Network errors from before a request was sent. */
const notSent: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Invalid requests whose cause is the account or the key. */
const accountCodes: ReadonlySet<unknown> = new Set([
  'account_invalid',
  'api_key_expired',
  'livemode_mismatch',
  'platform_api_key_expired',
  'secret_key_required',
  'testmode_charges_only',
]);

/** The meaning of an error of a call. */
export function outcomeOf(error: unknown): Outcome {
  const own = ownOutcome(error);
  if (own !== null) return own;
  if (!(error instanceof stripeSdk().errors.StripeError)) {
    return { kind: 'unknown', failure: processorFailure('unexpected_error', String(error)), replied: false };
  }
  const failure = failureOf(error);
  // As a string, because later SDKs may have other types.
  switch (error.type as string) {
    case 'StripeAuthenticationError':
    case 'StripePermissionError':
      return { kind: 'misconfigured', failure };
    case 'StripeRateLimitError':
      // Something else works on the payment; the account may send.
      if (error.code === 'lock_timeout') return unavailable(failure, retryAfterMs(error));
      return { kind: 'unavailable', failure, retryAfterMs: retryAfterMs(error), rateLimited: true };
    case 'StripeInvalidRequestError':
      if (accountCodes.has(error.code)) return { kind: 'misconfigured', failure };
      return { kind: 'refused', failure, missing: error.code === 'resource_missing' };
    case 'StripeCardError':
      return { kind: 'refused', failure, missing: false };
    case 'StripeConnectionError':
      if (wasSent(error)) return { kind: 'unknown', failure, replied: false };
      return unavailable(failure);
    default:
      return { kind: 'unknown', failure, replied: hasReplied(error) };
  }
}

/** False only when the connection was never made. */
function wasSent(error: StripeError): boolean {
  const { code, syscall } = networkError(error);
  return !notSent.has(code) && syscall !== 'connect' && syscall !== 'getaddrinfo';
}

/** Our HTTP client wraps network errors. */
function networkError(error: StripeError): { code?: unknown; syscall?: unknown } {
  const detail: unknown = error.detail;
  const cause = detail instanceof Error ? (detail.cause ?? detail) : detail;
  return typeof cause === 'object' && cause !== null ? cause : {};
}

/**
 * True when Stripe itself has ended the request. Only Stripe's own JSON has a status; 409 means that a request with the same
 * key is still running, and 502 and 504 come from a proxy that stopped waiting.
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

/** The code that is common to all processors where there is one, else Stripe's. */
function codeOf({ code, param, message, rawType, type }: StripeError): string {
  if (code === 'charge_already_refunded') return 'already_refunded';
  if (code === 'refund_disputed_payment') return 'charge_disputed';
  // Stripe documents the parameter and the message of this error, but not its code.
  if (param === 'amount' && (code === undefined || /greater than (the )?unrefunded amount/i.test(message))) {
    return 'amount_too_large';
  }
  return code ?? rawType ?? type;
}
