import csrf from '@fastify/csrf-protection';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';
import { entered } from './forms.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether a request comes from a page of this host. Another site can make a browser send requests with its cookies, but
 * cannot change these two headers; a client that sends neither is refused.
 */
function isSameOrigin({ headers, host }: Pick<FastifyRequest, 'headers' | 'host'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin = '' } = headers;
  if (!URL.canParse(origin)) return false;
  const { host: sender } = new URL(origin);
  // An origin without a host, such as a file's, matches nothing, also when the request has no host.
  return sender !== '' && sender === host;
}

/** Refuses cross-site forms before their body is read, including a sign-in that another site submits. */
export function refuseOtherSites(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (request) => {
    if (safeMethods.has(request.method) || isSameOrigin(request)) return;
    const message = 'This form was not sent from the dashboard. Reload the page and try again.';
    throw new ServiceError('insufficient_scope', message);
  });
}

/** Enables CSRF tokens, which are bound to the session. Register it after the sessions. */
export async function enableCsrfTokens(scope: FastifyInstance): Promise<void> {
  await scope.register(csrf, {
    sessionPlugin: '@fastify/session',
    getToken: ({ body, headers }) => {
      const header = headers['x-csrf-token'];
      return typeof header === 'string' ? header : entered(body, '_csrf');
    },
  });
}

/** Refuses changing requests without a CSRF token of the session. */
export function requireCsrfToken(scope: FastifyInstance): void {
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') done();
    else scope.csrfProtection(request, reply, done);
  });
}

/** Whether an error is the refusal of a missing or wrong CSRF token. */
export function isCsrfRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_CSRF_');
}
