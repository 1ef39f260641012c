import type { FastifyRequest } from 'fastify';

/** Of a path no more than this is logged. */
const longestPath = 200;

/**
 * What is logged of a request: enough to follow it, and nothing that a client may have put where it does not belong. The
 * query is left out, and escapes in the path are resolved, because behind them a key or a number would not be recognized.
 */
export function loggedRequest({ method, url, ip }: FastifyRequest): Record<string, unknown> {
  return { method, path: unescaped(url.split('?')[0] ?? '').slice(0, longestPath), remoteAddress: ip };
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '[not a valid path]';
  }
}
