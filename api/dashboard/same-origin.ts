import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../shared/errors.ts';

const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses whatever another site has a browser send, before anything is read of it: also to sign somebody in as somebody
 * else. Browsers say where a request comes from; one that says nothing is no browser of today, and is refused as well.
 */
export function refuseOtherSites(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ method, headers, host }) => {
    if (reading.has(method)) return;
    const { origin, 'sec-fetch-site': site } = headers;
    const isOwn = site === undefined ? hostOf(origin) === host : site === 'same-origin';
    if (isOwn) return;
    throw new ServiceError(
      'insufficient_scope',
      'This form was not sent from the dashboard. Open the page again and repeat.',
    );
  });
}

function hostOf(origin: string | undefined): string | null {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).host : null;
}
