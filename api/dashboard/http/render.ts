import type { FastifyInstance, FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

/** Sends a whole page; the renderer escapes every text. */
export function sendPage(reply: FastifyReply, page: VNode): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(`<!doctype html>${renderToString(page)}`);
}

/** Sends a fragment that replaces a part of a page. */
export function sendPart(reply: FastifyReply, part: VNode): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(renderToString(part));
}

/** Pages may load and run files of this service only, nothing inline. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Sets the security headers of a page: content policy, no framing, no caching, no referrer to other sites. */
export function protectPage(reply: FastifyReply): void {
  reply.header('content-security-policy', contentPolicy);
  reply.header('referrer-policy', 'same-origin');
  reply.header('x-frame-options', 'DENY');
  reply.header('x-content-type-options', 'nosniff');
  reply.header('cache-control', 'no-store');
}

/** Sets the security headers on every response of this scope. */
export function protectPages(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => protectPage(reply));
}
