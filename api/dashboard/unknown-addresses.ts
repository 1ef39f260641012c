import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';
import { dashboardPath, originOf, pageNotFound } from './http/paths.ts';
import { protectPage } from './http/render.ts';
import { sendErrorPage } from './pages/error-pages.tsx';

/**
 * Responds to an unknown address with a page, the same for everyone, where people ask: in the dashboard, and anywhere with a
 * browser. Throws the error for programs.
 * @throws ServiceError
 */
export function refuseAddress(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: ServiceError,
): FastifyReply {
  const isForPeople = isOwnPath(pathOf(request.url)) || request.headers.accept?.startsWith('text/html');
  if (!isForPeople) throw refusal;
  return sendErrorPage(request, reply, pageErrorOf(refusal));
}

function pageErrorOf(refusal: ServiceError): ServiceError {
  if (refusal.code === 'not_found') return pageNotFound();
  if (refusal.code !== 'method_not_allowed') return refusal;
  return new ServiceError(
    'method_not_allowed',
    'This URL only accepts form submissions. Start from the dashboard.',
  );
}

/**
 * Refuses addresses that reach a page only through percent-decoding or an absolute URL: the session library compares the
 * raw address and would find no session. Browsers send none. A malformed Host header is refused before anything is done, because pages
 * make links with it.
 */
export function refuseDisguisedAddresses(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (request) => {
    if (!isOwnPath(pathOf(request.url))) throw pageNotFound();
    originOf(request);
  });
}

/** Redirects a page's address with trailing slashes to the one without; the queue board handles its own. */
export function redirectTrailingSlashes(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return;
    const path = pathOf(request.url);
    const isOwn = path.startsWith(`${dashboardPath}/`) && !path.startsWith(`${dashboardPath}/queues/`);
    if (!isOwn || !path.endsWith('/')) return;
    protectPage(reply);
    return reply.redirect(`${withoutTrailingSlashes(path)}${request.url.slice(path.length)}`, 308);
  });
}

/** A loop, because a regular expression takes quadratic time for many slashes. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function isOwnPath(path: string): boolean {
  return path === dashboardPath || path.startsWith(`${dashboardPath}/`);
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}
