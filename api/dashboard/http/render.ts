import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createContext, h, isValidElement, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { renderToString } from 'preact-render-to-string';
import { forgetWord } from './flash.ts';

const Answered = createContext<FastifyRequest | null>(null);

/** The request that a page answers, for what most components need of it: the member, the CSRF token. */
export function useRequest(): FastifyRequest {
  const request = useContext(Answered);
  if (request === null) throw new TypeError('Components are rendered for a request');
  return request;
}

/** True for a request of a script that replaces a part of the page, and needs no more than that. */
export function isForPart({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['hx-request'] === 'true';
}

/** Lets routes of this scope answer with a page or a part of one as JSX. The renderer escapes every text. */
export function renderPages(scope: FastifyInstance): void {
  scope.decorateRequest('submitted', null);
  scope.addHook('preSerialization', async (_request, reply, payload) => {
    if (!isValidElement(payload)) return payload;
    const text = renderPage(reply, payload);
    if (!isForPart(reply.request)) forgetWord(reply);
    reply.serializer(String);
    return text;
  });
}

/** Renders a page for a reply outside of such a scope. */
export function renderPage(reply: FastifyReply, page: VNode): string {
  reply.type('text/html; charset=utf-8');
  const text = renderToString(h(Answered.Provider, { value: reply.request }, page));
  return text.startsWith('<html') ? `<!doctype html>${text}` : text;
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
