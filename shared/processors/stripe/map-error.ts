import Stripe from 'stripe';
import { type Outcome, ownOutcome, processorFailure, unavailable } from '../contract/outcome.ts';
import type { Misconfigured, ProcessorFailure, UnavailableCause } from '../contract/processor.ts';

type StripeError = InstanceType<typeof Stripe.errors.StripeError>;

/** Network errors from before a request was sent. */
const notSent: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** The codes that mean the same with any HTTP status, from Stripe's list of error codes. */
const meanings: ReadonlyMap<unknown, Meaning> = new Map<unknown, Meaning>([
  // Kept for a reviewer of the account, and carried out by Stripe itself once that person approves it.
  ['approval_required', { kind: 'unknown', awaitsApproval: true }],
  // A request with the same key is still running.
  ['idempotency_key_in_use', { kind: 'unknown' }],
  ['lock_timeout', { kind: 'unavailable', cause: 'payment_busy' }],
  ['card_decline_rate_limit_exceeded', { kind: 'unavailable', cause: 'payment_busy' }],
  ['payment_intent_rate_limit_exceeded', { kind: 'unavailable', cause: 'payment_busy' }],
  ['rate_limit', { kind: 'unavailable', cause: 'rate_limited' }],
  ['balance_insufficient', { kind: 'unavailable', cause: 'insufficient_balance' }],
  ['insufficient_funds', { kind: 'unavailable', cause: 'insufficient_balance' }],
  ['account_invalid', { kind: 'misconfigured', scope: 'credentials', isUnconnected: true }],
  ...[
    'api_key_expired',
    'livemode_mismatch',
    'platform_account_required',
    'platform_api_key_expired',
    'secret_key_required',
    'testmode_charges_only',
    'tls_version_unsupported',
  ].map((code) => [code, { kind: 'misconfigured', scope: 'credentials' }] as const),
  // A rule of the account blocks it, perhaps because of its amount.
  ['action_blocked', { kind: 'misconfigured', scope: 'object' }],
  // Stripe stops the refunds of the account.
  ...['anomalous_money_movement_request', 'request_blocked'].map(
    (code) => [code, { kind: 'misconfigured', scope: 'ability' }] as const,
  ),
]);

type Meaning =
  | { kind: 'unknown'; awaitsApproval?: true }
  | { kind: 'unavailable'; cause: UnavailableCause }
  | { kind: 'misconfigured'; scope: Misconfigured['scope']; isUnconnected?: true };

/** The meaning of an error of a call: by its code first, by its status and type second. */
export function outcomeOf(error: unknown): Outcome {
  const own = ownOutcome(error);
  if (own !== null) return own;
  if (!(error instanceof Stripe.errors.StripeError)) {
    return { kind: 'unknown', failure: processorFailure('unexpected_error', String(error)) };
  }
  const failure = failureOf(error);
  const meaning = meaningOf(error);
  switch (meaning?.kind) {
    case 'unavailable':
      return unavailable(meaning.cause, failure, retryAfterMs(error));
    case 'unknown':
    case 'misconfigured':
      return { ...meaning, failure };
    default:
      return outcomeByType(error, failure);
  }
}

/** Null when the code says nothing that the type does not. */
function meaningOf(error: StripeError): Meaning | null {
  const known = meanings.get(error.code);
  if (known !== undefined) return known;
  if (isShortOfBalance(error)) return { kind: 'unavailable', cause: 'insufficient_balance' };
  // Whatever the limit is about, as long as it is not the account.
  const isBusy =
    error.statusCode === 429 && error.headers?.['stripe-rate-limited-reason'] === 'resource-specific';
  return isBusy ? { kind: 'unavailable', cause: 'payment_busy' } : null;
}

/** Some accounts get this error without a code, in place of a refund that waits for the balance. */
function isShortOfBalance({ raw, message }: StripeError): boolean {
  const messageCode = (raw as { message_code?: unknown } | undefined)?.message_code;
  return (
    messageCode === 'insufficient_balance_for_refund' ||
    /^Insufficient funds in your Stripe balance/i.test(message)
  );
}

function outcomeByType(error: StripeError, failure: ProcessorFailure): Outcome {
  // As a string, because later SDKs may have other types.
  switch (error.type as string) {
    case 'StripeAuthenticationError':
      return { kind: 'misconfigured', failure, ...deniedBy(error, 'credentials') };
    case 'StripePermissionError':
      return { kind: 'misconfigured', failure, ...deniedBy(error, 'object') };
    case 'StripeIdempotencyError':
      return { kind: 'unknown', failure, keyRefused: true };
    case 'StripeRateLimitError':
      return unavailable('rate_limited', failure, retryAfterMs(error));
    case 'StripeInvalidRequestError':
      return { kind: 'refused', failure, missing: error.code === 'resource_missing' };
    case 'StripeCardError':
      return { kind: 'refused', failure, missing: false };
    case 'StripeConnectionError':
      if (wasSent(error)) return { kind: 'unknown', failure };
      return unavailable('unreachable', failure);
    default:
      // Stripe may create objects later while it repairs the cause: https://docs.stripe.com/error-low-level.
      return { kind: 'unknown', failure, ...(error.statusCode !== undefined && { serverError: true }) };
  }
}

/**
 * A restricted key lacks a permission, which the message names, such as `rak_charge_read`, or is not used from where it may be.
 * @param otherwise what is denied by a message that says neither.
 */
function deniedBy(
  { message }: StripeError,
  otherwise: Misconfigured['scope'],
): Pick<Misconfigured, 'scope' | 'permission'> {
  const [permission] = /\brak_\w+/.exec(message) ?? [];
  if (permission !== undefined) return { scope: 'ability', permission };
  if (message.includes('does not allow requests from your IP address')) return { scope: 'credentials' };
  return { scope: message.includes('required permissions') ? 'ability' : otherwise };
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
  return processorFailure(codeOf(error), messageOf(error));
}

/** Names the parameter that is missing, such as `instructions_email`, so that the caller knows what would be accepted. */
function messageOf({ code, param, message, type }: StripeError): string {
  const words = message || `Stripe answered with ${type}.`;
  return code === 'parameter_missing' && param && !words.includes(param) ? `${words} (${param})` : words;
}

/** The code that is common to all processors where there is one, else Stripe's. */
function codeOf(error: StripeError): string {
  const { code, param, message, rawType, type } = error;
  if (code === 'charge_already_refunded') return 'already_refunded';
  if (code === 'refund_disputed_payment') return 'charge_disputed';
  if (isShortOfBalance(error)) return 'balance_insufficient';
  // Stripe documents the parameter and the message of this error, but not its code.
  if (param === 'amount' && (code === undefined || /greater than (the )?unrefunded amount/i.test(message))) {
    return 'amount_too_large';
  }
  return code ?? rawType ?? type;
}
