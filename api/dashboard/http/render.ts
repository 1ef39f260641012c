import type { FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

/** Sends a whole page; every text in it is escaped by the renderer. */
export function sendPage(reply: FastifyReply, page: VNode): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(`<!doctype html>${renderToString(page)}`);
}

/** Sends a part of a page, which takes the place of an older one. */
export function sendPart(reply: FastifyReply, part: VNode): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(renderToString(part));
}
