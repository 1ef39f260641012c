import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createContext, h, isValidElement, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { renderToString } from 'preact-render-to-string';

const Answered = createContext<FastifyRequest | null>(null);

/** The request that a page answers, for what most components need of it: the member, the CSRF token. */
export function useRequest(): FastifyRequest {
  const request = useContext(Answered);
  if (request === null) throw new TypeError('Pages are rendered by sendPage and sendPart');
  return request;
}

/** The renderer escapes every text. */
function render(reply: FastifyReply, page: VNode): string {
  return renderToString(h(Answered.Provider, { value: reply.request }, page));
}

/** Lets routes of this scope return a page, or a fragment that replaces a part of one. */
export function renderPages(scope: FastifyInstance): void {
  scope.addHook('preSerialization', async (_request, reply, payload) => {
    if (!isValidElement(payload)) return payload;
    const text = render(reply, payload);
    reply.type('text/html; charset=utf-8').serializer(String);
    return text.startsWith('<html') ? `<!doctype html>${text}` : text;
  });
}

/** Sends a whole page. */
export function sendPage(reply: FastifyReply, page: VNode): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(`<!doctype html>${render(reply, page)}`);
}

/** Sends a fragment that replaces a part of a page. */
export function sendPart(reply: FastifyReply, part: VNode): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(render(reply, part));
}

/** Sends the part to a script that replaces only that, and otherwise the page around it. */
export function sendPartOrPage(
  reply: FastifyReply,
  part: VNode,
  around: (part: VNode) => VNode,
): FastifyReply {
  const isPart = reply.request.headers['hx-request'] === 'true';
  return isPart ? sendPart(reply, part) : sendPage(reply, around(part));
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
