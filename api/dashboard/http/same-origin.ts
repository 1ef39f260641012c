import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../../shared/platform/errors.ts';

const readingMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether a request comes from a page of this very host, by the word of the browser: a page of another site can send
 * requests with the cookies of whoever looks at it, but cannot change these two headers. Who sends neither is no browser
 * of these days, and is not believed.
 */
export function isSameOrigin({ headers, host }: Pick<FastifyRequest, 'headers' | 'host'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin = '' } = headers;
  if (!URL.canParse(origin)) return false;
  const { host: sender } = new URL(origin);
  // An origin without a host, such as that of a file, is that of nobody, also where the request names none.
  return sender !== '' && sender === host;
}

/** Refuses whatever another site has a browser send, before anything of it is read: also a sign-in as somebody else. */
export function refuseOtherSites(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (request) => {
    if (readingMethods.has(request.method) || isSameOrigin(request)) return;
    throw new ServiceError(
      'insufficient_scope',
      'This form was not sent from the dashboard. Open the page again and repeat.',
    );
  });
}
