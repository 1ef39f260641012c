import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';

const answerable: readonly HTTPMethods[] = [
  ...(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const),
  ...(['OPTIONS', 'TRACE', 'QUERY'] as const),
];

/** The browsable documentation and the board of the queues have routes that overlap; they are left as they are. */
const overlapping = ['/docs', '/dashboard/queues'];

/** Sends a refusal, or throws it to have it sent like every other error. */
type Refuse = (request: FastifyRequest, reply: FastifyReply, refusal: ServiceError) => FastifyReply;

/**
 * Answers 405 for a known path with another method, and 404 for any other path. It has to be called before the routes
 * are registered; the returned function completes it after them.
 */
export function answerUnknownRoutes(app: FastifyInstance, refuse: Refuse): () => void {
  const refuseUnknown = (request: FastifyRequest, reply: FastifyReply) =>
    refuse(request, reply, new ServiceError('not_found', 'No such route; /docs lists all of them.'));
  app.setNotFoundHandler(refuseUnknown);
  // Before the body is read: nothing is wrong with a body that nobody wants.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) return refuseUnknown(request, reply);
  });
  return answerOtherMethods(app, refuse);
}

/** The part of `answerUnknownRoutes` that answers 405. */
export function answerOtherMethods(app: FastifyInstance, refuse: Refuse): () => void {
  const methodsByPath = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    if (overlapping.some((prefix) => url.startsWith(prefix))) return;
    const methods = methodsByPath.get(url) ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one.toUpperCase());
    methodsByPath.set(url, methods);
  });
  return () => {
    for (const [url, taken] of [...methodsByPath]) {
      const allow = [...taken].toSorted().join(', ');
      const others = answerable.filter((method) => !taken.has(method));
      if (others.length === 0) continue;
      app.route({
        method: [...others],
        url,
        schema: { hide: true },
        // The body is of no interest, so it is not read.
        onRequest: async (request, reply) => {
          reply.header('allow', allow);
          return refuse(
            request,
            reply,
            new ServiceError('method_not_allowed', `Use ${allow} on this route.`),
          );
        },
        handler: () => undefined,
      });
    }
  };
}
