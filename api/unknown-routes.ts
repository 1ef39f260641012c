import type { FastifyInstance, HTTPMethods } from 'fastify';
import { ServiceError } from '../shared/errors.ts';

const answerable: readonly HTTPMethods[] = [
  ...(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const),
  ...(['OPTIONS', 'TRACE', 'QUERY'] as const),
];

/** The browsable documentation and the board of the queues have routes that overlap; they are left as they are. */
const overlapping = ['/docs', '/dashboard/queues'];

/**
 * Answers 405 for a known path with another method, and 404 for any other path. It has to be called before the routes
 * are registered; the returned function completes it after them.
 */
export function answerUnknownRoutes(app: FastifyInstance): () => void {
  const methodsByPath = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    if (overlapping.some((prefix) => url.startsWith(prefix))) return;
    const methods = methodsByPath.get(url) ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one.toUpperCase());
    methodsByPath.set(url, methods);
  });
  const refuse = () => {
    throw new ServiceError('not_found', 'No such route; /docs lists all of them.');
  };
  app.setNotFoundHandler(refuse);
  // Before the body is read: nothing is wrong with a body that nobody wants.
  app.addHook('onRequest', async (request) => {
    if (request.is404) refuse();
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
        onRequest: async (_request, reply) => {
          reply.header('allow', allow);
          throw new ServiceError('method_not_allowed', `Use ${allow} on this route.`);
        },
        handler: () => undefined,
      });
    }
  };
}
