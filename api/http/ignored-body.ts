import type { FastifyInstance } from 'fastify';

/**
 * Ignores the bodies of requests to the routes that are registered on this instance, of any content type and up to the usual
 * size limit. Common HTTP clients send an empty form where there is nothing to send.
 */
export function ignoreBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
  // Fastify refuses a content type that cannot be one before it looks for a parser.
  scope.addHook('onRequest', async ({ headers }) => {
    delete headers['content-type'];
  });
}
