import { ServiceError } from '#shared/platform/errors.ts';
import { isQueueUnavailable } from '#shared/platform/store-errors.ts';

/** Copies the message of an error to where the board's pages look for it; leaves other responses unchanged. */
export function describeForUi(response: unknown): unknown {
  if (!isRecord(response) || !isRecord(response.error) || !('code' in response.error)) return response;
  return { ...response, message: response.error.message };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Translates an error of the board or the queues; returns an unknown one unchanged. */
export function boardError(error: Error & { code?: unknown }): Error {
  if (error instanceof ServiceError) return error;
  if (error.code === 'FST_ERR_HANDLER_TIMEOUT' || isQueueUnavailable(error)) {
    const message = 'The queues are not responding. No refunds are lost; try again in a few seconds.';
    return new ServiceError('service_unavailable', message, { retryAfterSeconds: 2, cause: error });
  }
  // The board decodes some parameters twice.
  if (error instanceof URIError) {
    return new ServiceError('validation_error', 'The URL is invalid.', { cause: error });
  }
  return error;
}

/**
 * The Content-Security-Policy of the board. All files come from this host. The hash is of the one style that its scripts
 * insert, the colors of a logo.
 */
export const boardContentSecurityPolicy = [
  "default-src 'self'",
  "style-src 'self' 'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Removes what the policy blocks from the board's page: fonts of another host, and inline styles of the placeholder. */
export function selfContained(html: string): string {
  return html
    .replaceAll(/<link [^>]*href="https?:[^>]*>/g, '')
    .replace(/<div id="root">.*<\/div>/s, '<div id="root"></div>');
}
