/** The errors of the API. Responses, the OpenAPI document and docs/errors.md are made from it. */
export const errorCatalogue = {
  validation_error: {
    status: 400,
    retryable: false,
    summary: 'The body, a query parameter or a header is not valid; the message names the field and the fix.',
  },
  invalid_signature: {
    status: 400,
    retryable: false,
    summary: "A processor's webhook is not signed for this account, or too old.",
  },
  invalid_api_key: {
    status: 401,
    retryable: false,
    summary: 'The Authorization header is missing, malformed, or its key is unknown or revoked.',
  },
  policy_denied: {
    status: 403,
    retryable: false,
    summary: 'A policy that the organization enforces does not allow this refund.',
  },
  insufficient_scope: {
    status: 403,
    retryable: false,
    summary: 'The key is valid and may not do this.',
  },
  not_found: {
    status: 404,
    retryable: false,
    summary: 'No such refund for this key, no such processor account, or no such route.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    summary: 'The route exists and does not take this method; the Allow header lists those it takes.',
  },
  refund_already_processed: {
    status: 409,
    retryable: false,
    summary: 'The transaction has been refunded in full already, here or directly at the processor.',
  },
  refund_not_cancellable: {
    status: 409,
    retryable: false,
    summary:
      'The refund cannot be cancelled any more, or the processor did not confirm; the message names its status.',
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    summary: "The body is larger than 64 KiB, or than 256 KiB in a processor's webhook.",
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    summary:
      'The body is not of the media type that the route takes, which is application/json nearly everywhere.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    summary: 'The Idempotency-Key was used before with another request.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    summary: 'The key sends requests too fast; repeat after Retry-After.',
  },
  internal_error: {
    status: 500,
    retryable: true,
    summary: 'A fault of the service. Repeat with the same Idempotency-Key: no refund is made twice.',
  },
  processor_error: {
    status: 502,
    retryable: false,
    summary: 'The payment processor refused; the message carries its reason.',
  },
  service_unavailable: {
    status: 503,
    retryable: true,
    summary: 'Nothing was changed; repeat after Retry-After.',
  },
} as const satisfies Record<string, { status: number; retryable: boolean; summary: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

/** An error for the caller. `message` is public: what is wrong and what to do, nothing internal. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly status: number;
  /** Seconds for the Retry-After header. */
  readonly retryAfterSeconds: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = errorCatalogue[code].status;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }
}
