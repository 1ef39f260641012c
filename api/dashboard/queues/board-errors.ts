import { ServiceError } from '../../../shared/platform/errors.ts';
import { isQueueUnavailable, isRefusedByQueue } from '../../../shared/platform/queues.ts';

/** What went wrong on the board in the words of this service; what is unknown here stays what it is. */
export function boardError(error: Error & { code?: unknown }): Error {
  if (error instanceof ServiceError) return error;
  if (error.code === 'FST_ERR_HANDLER_TIMEOUT' || isQueueUnavailable(error)) {
    return new ServiceError(
      'service_unavailable',
      'The queues do not answer. No refund is lost by that; look again in a few seconds.',
      { retryAfterSeconds: 2, cause: error },
    );
  }
  if (isRefusedByQueue(error)) {
    return new ServiceError('validation_error', 'The job is no longer where it was; load the page again.', {
      cause: error,
    });
  }
  // The board decodes some of what it is asked for twice.
  if (error instanceof URIError) {
    return new ServiceError('validation_error', 'The address cannot be read; load the page again.', {
      cause: error,
    });
  }
  return error;
}

/** What whoever may only look is told of an order. */
export function mayNotOrder(): ServiceError {
  return new ServiceError('insufficient_scope', 'Only an operator may retry or promote jobs.');
}
