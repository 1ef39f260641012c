import type { FastifyRequest } from 'fastify';

/**
 * Whether a request comes from a page of this very host, by the word of the browser: a page of another site can send
 * requests with the cookies of whoever looks at it, but cannot change these two headers. Who sends neither is no browser
 * of these days, and is not believed.
 */
export function isSameOrigin({ headers, host }: Pick<FastifyRequest, 'headers' | 'host'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin = '' } = headers;
  return URL.canParse(origin) && new URL(origin).host === host;
}
