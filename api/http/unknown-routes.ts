import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';

const answerable: readonly HTTPMethods[] = [
  ...(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const),
  ...(['OPTIONS', 'TRACE', 'QUERY'] as const),
];

/** The queue board has overlapping routes of its own. */
const overlapping = '/dashboard/queues';

/** Sends a refusal, or throws it to have it sent like any other error. */
type Refuse = (request: FastifyRequest, reply: FastifyReply, refusal: ServiceError) => FastifyReply;

/** Answers 404 for every path without a route. Call it before the routes are registered. */
export function refuseUnknownRoutes(app: FastifyInstance, refuse: Refuse): void {
  const refuseUnknown = (request: FastifyRequest, reply: FastifyReply) =>
    refuse(request, reply, new ServiceError('not_found', 'Route not found. See /docs for all routes.'));
  app.setNotFoundHandler(refuseUnknown);
  // Before the body is read: any body gets the same answer.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) return refuseUnknown(request, reply);
  });
}

/** Registers routes, and answers 405 with an Allow header to every other method on their paths. */
export async function withOtherMethodsRefused(
  app: FastifyInstance,
  refuse: Refuse,
  registerRoutes: () => Promise<void>,
): Promise<void> {
  const methodsByPath = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    if (url.startsWith(overlapping)) return;
    const methods = methodsByPath.get(url) ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one.toUpperCase());
    methodsByPath.set(url, methods);
  });
  await registerRoutes();
  for (const [url, taken] of [...methodsByPath]) {
    const allow = [...taken].toSorted().join(', ');
    const method = answerable.filter((other) => !taken.has(other));
    if (method.length === 0) continue;
    app.route({
      method,
      url,
      schema: { hide: true },
      // Answered before the body is read.
      onRequest: async (request, reply) => {
        reply.header('allow', allow);
        const message = `This route does not support ${request.method}. Supported: ${allow}.`;
        return refuse(request, reply, new ServiceError('method_not_allowed', message));
      },
      handler: () => undefined,
    });
  }
}
