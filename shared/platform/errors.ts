interface CatalogueEntry {
  /** HTTP status. */
  status: number;
  /** Whether the same request may succeed when it is repeated. */
  retryable: boolean;
  meaning: string;
  /** What the client should do. */
  action: string;
  /** A message as it is sent with this code. */
  example: string;
}

/** Every error code, in the order of status. The OpenAPI document and docs/errors.md are made from it. */
export const errorCatalogue = {
  validation_error: {
    status: 400,
    retryable: false,
    meaning:
      'The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, ' +
      "a currency that is not the payment's, and text with a NUL character or an unpaired surrogate.",
    action: 'Fix the field that the message names.',
    example: 'amount: must be a positive whole number in the smallest currency unit (1050 is 10.50 USD)',
  },
  invalid_signature: {
    status: 400,
    retryable: false,
    meaning: 'The signature of a processor webhook does not match the account, or the webhook is too old.',
    action: "Only routes under `/webhooks` send this. Check the account's signing secret or keys.",
    example:
      "The webhook signature does not match this account or is too old. Check the account's signing secret or keys.",
  },
  invalid_api_key: {
    status: 401,
    retryable: false,
    meaning: 'The Authorization header is missing or malformed, or its key is unknown, revoked or expired.',
    action: 'Send `Authorization: Bearer svc_live_...` or `svc_test_...`. All causes get the same answer.',
    example: 'Send a valid API key as "Authorization: Bearer svc_test_..." or "svc_live_...".',
  },
  policy_denied: {
    status: 403,
    retryable: false,
    meaning:
      'A refund policy that the organization enforces, or the limits of an agent key, do not allow this refund.',
    action:
      'The message says what would be accepted. Call `POST /v1/policies/check` to see what is allowed, or change the policy or the limits.',
    example: 'The refund window of 30 days under the policy "Returns" closed on 2026-11-19T09:30:00.000Z.',
  },
  insufficient_scope: {
    status: 403,
    retryable: false,
    meaning:
      "The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel or change only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended.",
    action:
      'Use a key with the scope. To approve a refund, use a key that another person created. In the dashboard, sign in again or ask an owner or admin to change your role.',
    example: 'This requires the scope refunds:write, which this API key does not have. Use another key.',
  },
  not_found: {
    status: 404,
    retryable: false,
    meaning:
      'The refund, refund batch, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it.',
    action: 'Check the ID, and that the key belongs to the same organization and environment.',
    example: 'Refund not found.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    meaning: 'The route exists but does not support this method.',
    action: 'Use a method listed in the `Allow` header.',
    example: 'This route does not support DELETE. Supported: GET, HEAD, POST.',
  },
  refund_already_processed: {
    status: 409,
    retryable: false,
    meaning:
      'The payment has already been refunded in full, through this service or directly at the processor.',
    action: 'List refunds to find the earlier one. Nothing is left to refund.',
    example: 'The payment has already been refunded in full.',
  },
  refund_not_cancellable: {
    status: 409,
    retryable: false,
    meaning:
      'The refund can no longer be cancelled, or the processor has not confirmed the cancellation yet. The message names its status.',
    action: 'Get the refund. While it is `processing`, it may still become `cancelled`.',
    example: 'The refund is completed and can no longer be cancelled.',
  },
  refund_not_pending: {
    status: 409,
    retryable: false,
    meaning:
      'The refund is not awaiting approval, for example because another decision came first. The message names its status.',
    action: 'Get the refund. Nothing was changed.',
    example: 'The refund is not awaiting approval: its status is processing.',
  },
  refund_flagged: {
    status: 409,
    retryable: false,
    meaning:
      'The processor has a second refund with the reference of this one, so it cannot be approved: the customer could be paid twice.',
    action: 'Reject the refund, or have someone dismiss its flag in the dashboard and approve it again.',
    example:
      'The processor has a second refund with the reference of this one. Reject this refund, or dismiss its flag in the dashboard and approve it again.',
  },
  payment_disputed: {
    status: 409,
    retryable: false,
    meaning:
      'The payment was charged back, so the refund cannot be approved: the customer would be paid twice.',
    action: 'Reject the refund, or approve it again once the dispute is decided for you.',
    example:
      'The payment is disputed, so a refund would pay the customer twice. Reject this refund, or approve it once you have won the dispute.',
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    meaning: 'The body is larger than 64 KiB (256 KiB for processor webhooks, 4 MiB for refund batches).',
    action: 'Send less metadata, or fewer rows.',
    example: 'body: must be at most 64 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    meaning: 'The media type or encoding of the body is not supported.',
    action:
      'Send `Content-Type: application/json` without `Content-Encoding`. Refund batches may also be `text/csv`.',
    example: 'Send the body as application/json.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    meaning: 'The `Idempotency-Key` was used before with a different request.',
    action: 'Use a new key for each new request. A key stays bound to the refund of its first request.',
    example: 'This Idempotency-Key was used with another request. Use a new key.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    meaning:
      'Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out.',
    action: 'Wait for the number of seconds in `Retry-After`, then retry.',
    example: 'Too many requests: the limit is 100 per second. Wait as long as Retry-After says, then retry.',
  },
  internal_error: {
    status: 500,
    retryable: true,
    meaning: 'An unexpected error in this service. The change may or may not have been recorded.',
    action: 'Retry with the same `Idempotency-Key`. Without a key, list refunds before you retry.',
    example:
      'An unexpected error occurred. Retry with the same Idempotency-Key, or list refunds to check whether the request was recorded.',
  },
  processor_error: {
    status: 502,
    retryable: false,
    meaning:
      "The payment processor rejected the request, does not have the payment, or answered in a way that cannot be read. The message carries the processor's reason.",
    action:
      'Resolve the reason. A refund that was recorded before the rejection stays on record as `failed`.',
    example: 'No processor account has the payment ch_3QfX2eLkdIwHu7ix. Check the ID and the environment.',
  },
  service_unavailable: {
    status: 503,
    retryable: true,
    meaning:
      'The service cannot handle the request at the moment: it is overloaded, a dependency is down, the credentials of a processor account do not work, or the payment is locked. Nothing was changed.',
    action: 'Wait for the number of seconds in `Retry-After`, then retry.',
    example: 'The service is temporarily unavailable. Nothing was changed. Retry in a few seconds.',
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

/** An error for the caller. `message` is public: it says what is wrong and what to do, and has nothing internal. */
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

  /** True for what happens now and then and is no bug, so that it is logged without a stack. */
  get isExpected(): boolean {
    return this.code === 'service_unavailable';
  }
}
