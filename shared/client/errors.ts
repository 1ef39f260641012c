import type { components } from './openapi.ts';

/**
 * The codes of docs/errors.md, and two of the client:
 * - `connection_error`: the service did not answer in time, or could not be reached.
 * - `unexpected_response`: something else answered, such as a proxy.
 */
export type ErrorCode =
  | components['schemas']['Error']['error']['code']
  | 'connection_error'
  | 'unexpected_response';

export interface ErrorFacts {
  code: ErrorCode;
  /** The HTTP status; null without an answer. */
  status: number | null;
  /** Of the `x-request-id` header, for support requests; null without an answer of the service. */
  requestId: string | null;
  /** Milliseconds of the `Retry-After` header; null without one. */
  retryAfterMs: number | null;
  /** The refund that is on record as failed although its creation was answered with an error; otherwise null. */
  refundId: string | null;
}

/** A request that failed, after the client's own retries. */
export class RefundApiError extends Error {
  override readonly name = 'RefundApiError';
  readonly code: ErrorCode;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly refundId: string | null;
  /** Whether the same request, with the same idempotency key, may succeed later. */
  readonly retryable: boolean;

  constructor(message: string, facts: ErrorFacts, options?: ErrorOptions) {
    super(message, options);
    this.code = facts.code;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
    this.refundId = facts.refundId;
    this.retryable =
      this.code !== 'processor_error' && (this.status === null || this.status === 429 || this.status >= 500);
  }
}
