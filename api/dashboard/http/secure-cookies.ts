import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Settings } from '#shared/platform/config.ts';
import { ServiceError } from '#shared/platform/errors.ts';

const localHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Marks all cookies as `Secure` when the browser uses https, and in production always, except over http on localhost. In
 * production, forms that a browser sends over http from elsewhere are refused, because it would drop the cookies.
 */
export function secureCookies(scope: FastifyInstance, { NODE_ENV }: Pick<Settings, 'NODE_ENV'>): void {
  const isProduction = NODE_ENV === 'production';
  scope.addHook('onRequest', async (request, reply) => {
    const page = originOfForm(request);
    const { protocol, hostname } = page ?? { protocol: `${request.protocol}:`, hostname: request.hostname };
    if (protocol === 'http:' && (!isProduction || localHosts.has(hostname))) return;
    if (page?.protocol === 'http:') {
      const message = 'This page was opened over http. Open it with https:// and sign in there.';
      throw new ServiceError('insufficient_scope', message);
    }
    const { setCookie } = reply;
    reply.setCookie = (name, value, options) =>
      setCookie.call(reply, name, value, { ...options, secure: true });
  });
}

/** The address of the page that a form comes from, as the browser sees it, also when TLS ends at a proxy that is not trusted. */
function originOfForm({ headers }: FastifyRequest): URL | null {
  const { origin = '' } = headers;
  return /^https?:/.test(origin) && URL.canParse(origin) ? new URL(origin) : null;
}
