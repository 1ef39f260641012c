import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';
import { protectPage } from './http/content-policy.ts';
import { dashboardPath } from './http/paths.ts';
import { sendErrorPage } from './pages/error-pages.tsx';

const messages: Partial<Record<ServiceError['code'], string>> = {
  not_found: 'No such page. Look whether the address is complete.',
  method_not_allowed:
    'Only a form is sent to this address, it cannot be opened by itself. Begin at the dashboard again.',
};

/**
 * Answers an address that nobody can open with a page when it is one of the dashboard, and throws the refusal for programs
 * otherwise. It knows nobody: whoever asks is told the same.
 * @throws ServiceError
 */
export function refuseAddress(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: ServiceError,
): FastifyReply {
  const path = pathOf(request.url);
  if (path !== dashboardPath && !path.startsWith(`${dashboardPath}/`)) throw refusal;
  protectPage(reply);
  return sendErrorPage(
    request,
    reply,
    new ServiceError(refusal.code, messages[refusal.code] ?? refusal.message),
  );
}

/**
 * Refuses an address that only leads here because it was decoded, or names a host: what keeps sessions looks at the address
 * as it was sent, and would know nobody. Browsers send none like it.
 */
export function refuseDisguisedAddresses(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (request) => {
    const path = pathOf(request.url);
    if (path === dashboardPath || path.startsWith(`${dashboardPath}/`)) return;
    throw new ServiceError('not_found', messages.not_found ?? 'No such page.');
  });
}

/** Leads from an address of the dashboard with a slash at its end to the one without; the board of the queues has its own. */
export function redirectTrailingSlashes(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return;
    const path = pathOf(request.url);
    const isOwn = path.startsWith(`${dashboardPath}/`) && !path.startsWith(`${dashboardPath}/queues/`);
    if (!isOwn || !path.endsWith('/')) return;
    protectPage(reply);
    return reply.redirect(`${withoutSlashesAtEnd(path)}${request.url.slice(path.length)}`, 308);
  });
}

/** A regular expression for this would try every run of slashes anew from each of its slashes, in quadratic time. */
function withoutSlashesAtEnd(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}
