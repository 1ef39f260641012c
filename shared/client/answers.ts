import { RefundApiError } from './errors.ts';
import type { components } from './openapi.ts';

/**
 * @returns the parsed body of a successful response.
 * @throws RefundApiError for any other.
 */
export function readAnswer({ status, ok, headers }: Response, text: string): unknown {
  const body = parseJson(text);
  if (ok && body !== undefined) return body;
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
