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

type Facts = Pick<RefundApiError, 'code' | 'status' | 'requestId' | 'retryAfterMs' | 'refundId'>;

/** A request that failed, after the client's own retries. */
export class RefundApiError extends Error {
  override readonly name = 'RefundApiError';
  readonly code: ErrorCode;
  /** The HTTP status; null without an answer. */
  readonly status: number | null;
  /** Of the `x-request-id` header, for support requests; null without an answer of the service. */
  readonly requestId: string | null;
  /** Milliseconds of the `Retry-After` header; null without one. */
  readonly retryAfterMs: number | null;
  /** The refund that is on record as failed although its creation was answered with an error; otherwise null. */
  readonly refundId: string | null;
  /** Of the request, also if the client made it; null without one. With another one, the same call may make a second refund. */
  idempotencyKey: string | null = null;
  /** Whether the same request, with the same idempotency key, may succeed later. */
  readonly retryable: boolean;

  constructor(message: string, facts: Facts, options?: { cause?: unknown }) {
    super(message, options);
    this.code = facts.code;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
    this.refundId = facts.refundId;
    this.retryable = facts.code !== 'processor_error' && (facts.status === null || isPassing(facts.status));
  }
}

/** Whether the next answer may be another one. The body of a 2xx was cut off or replaced on the way. */
function isPassing(status: number): boolean {
  return (status >= 200 && status < 300) || [408, 425, 429].includes(status) || status >= 500;
}

/**
 * @returns the parsed body of a successful response, which always has `data`.
 * @throws RefundApiError for any other.
 */
export function readAnswer({ status, ok, headers }: Response, text: string): unknown {
  const body = parseJson(text);
  if (ok && typeof body === 'object' && body !== null && 'data' in body) return body;
  const { code, message } = (body as Partial<components['schemas']['Error']> | null | undefined)?.error ?? {};
  throw new RefundApiError(
    message ?? `The response ${status} is not from the refund service. Check baseUrl and what is in between.`,
    {
      code: code ?? 'unexpected_response',
      status,
      requestId: headers.get('x-request-id'),
      retryAfterMs: retryAfterMsOf(headers.get('retry-after')),
      refundId: /\/v1\/refunds\/(\w+)$/.exec(headers.get('location') ?? '')?.[1] ?? null,
    },
  );
}

/** @param cause what fetch threw. */
export function noAnswerError(baseUrl: string, cause: unknown): RefundApiError {
  const { message, cause: reason } = cause as Error & { cause?: { code?: string; message?: string } };
  const why = reason?.code ?? reason?.message ?? message;
  return new RefundApiError(
    `No answer from ${baseUrl} (${why}). Check the address and the network.`,
    { code: 'connection_error', status: null, requestId: null, retryAfterMs: null, refundId: null },
    { cause },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param header seconds, or a date. */
function retryAfterMsOf(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
