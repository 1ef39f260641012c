import type { FastifyInstance, FastifyReply } from 'fastify';

/** What the pages may load and run: files of this service, and nothing that stands in a page itself. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Sets the headers of a page: no foreign code, no frame around it, and nothing of it left on the way or on the disk. */
export function protectPage(reply: FastifyReply): void {
  reply.header('content-security-policy', contentPolicy);
  reply.header('referrer-policy', 'same-origin');
  reply.header('x-frame-options', 'DENY');
  reply.header('x-content-type-options', 'nosniff');
  reply.header('cache-control', 'no-store');
}

/** Sets the headers of pages on whatever is answered within this scope. */
export function protectPages(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => protectPage(reply));
}
