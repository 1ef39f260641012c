import { formatAmount } from '../../money/money.ts';
import type { ProcessorAccount } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { ProcessorFailure } from '../../processors/contract/processor.ts';
import { displayNameOf } from '../../processors/registry.ts';

/** 409: the payment has been refunded in full. */
export function nothingLeft(): ServiceError {
  return new ServiceError('refund_already_processed', 'The payment has already been refunded in full.');
}

/** 400: less is left than requested; the message says how much. */
export function tooLittleLeft(remaining: bigint, currency: string): ServiceError {
  return new ServiceError(
    'validation_error',
    `amount: must be at most ${remaining} (${formatAmount(remaining, currency)}), which is left to refund.`,
  );
}

/** 400: less was left than was to be refunded, twice; the message of the processor names the amounts. */
export function keepsChanging(message: string): ServiceError {
  return new ServiceError(
    'validation_error',
    `remaining: the payment was refunded elsewhere at the same moment. Repeat the request with a new Idempotency-Key. ${message}`,
  );
}

/** 400: the payment is in another currency, which the message names. */
export function currencyMismatch(currency: string): ServiceError {
  return new ServiceError(
    'validation_error',
    `currency: the payment is in ${currency.toUpperCase()}; pass "currency": "${currency}".`,
  );
}

/** 503: the payment cannot be read until the account has other credentials, or a permission that they lack. */
export function refusedCredentials(processor: string, { message }: ProcessorFailure): ServiceError {
  return new ServiceError(
    'service_unavailable',
    `The credentials of the ${displayNameOf(processor)} account do not allow reading this payment. ` +
      `Ask an admin to replace them, then retry. Last error: ${message}`,
    { retryAfterSeconds: 60 },
  );
}

/** 400: a connected account that was never used, and to which the processor gives no access. */
export function notConnected(
  { processor }: Pick<ProcessorAccount, 'processor'>,
  { message }: ProcessorFailure,
): ServiceError {
  return new ServiceError(
    'validation_error',
    `connectedAccount: ${displayNameOf(processor)} gives no access to it. Check the ID, and that it is connected. Last error: ${message}`,
  );
}

/** 502: the processor answered about the payment, in a way that is not as documented. */
export function unreadableAnswer(processor: string, { message }: ProcessorFailure): ServiceError {
  return new ServiceError(
    'processor_error',
    `The answer of ${displayNameOf(processor)} about this payment cannot be read, so it is not refunded. ` +
      `Refund it at the processor, and report this: ${message}`,
  );
}

/** 500: the connection broke before the database confirmed the request. */
export function notKnown(cause: unknown): ServiceError {
  return new ServiceError(
    'internal_error',
    'It is unknown whether the request was stored. Retry with the same Idempotency-Key, or check the list of refunds first.',
    { cause },
  );
}

/** 422. */
export function keyReused(): ServiceError {
  return new ServiceError(
    'idempotency_key_reused',
    'This Idempotency-Key was used with another request. Use a new key.',
  );
}

/** 503: only the recovery finds out whether a refund that awaits approval here was approved and sent after the backup. */
export function maybeSent(): ServiceError {
  return new ServiceError(
    'service_unavailable',
    'The database was restored from a backup, and it is not known yet whether this refund was sent. Retry after the recovery.',
    { retryAfterSeconds: 60 },
  );
}
