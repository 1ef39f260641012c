import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { sendPage, sendPart } from '../../http/render.ts';
import { CopyButton } from '../../layout/values.tsx';

/**
 * Answers a form with what came of it at once, instead of leading to another address: for what must be in no address and
 * is shown a single time. Where scripts run it takes its place in the page that is there, so that a reload asks for the
 * page again and does not repeat the act.
 * @param part what takes that place; `page` is the whole page with it.
 */
export function sendOnce(
  request: FastifyRequest,
  reply: FastifyReply,
  { part, page }: { part: VNode; page: (part: VNode) => VNode },
): FastifyReply {
  return request.headers['hx-request'] === 'true' ? sendPart(reply, part) : sendPage(reply, page(part));
}

/** What a form needs so that its answer takes the place of the part with this id, and a second click sends nothing. */
export function answeredIn(id: string, action: string) {
  return {
    method: 'post',
    action,
    'hx-post': action,
    'hx-target': `#${id}`,
    'hx-swap': 'outerHTML',
    'hx-sync': 'drop',
  } as const;
}

/** A text that is shown this once, to be taken along. */
export function ShownOnce({
  title,
  text,
  label,
  children,
}: {
  title: string;
  text: string;
  /** What is copied. */
  label: string;
  children: ComponentChildren;
}) {
  return (
    <section class="card stack" role="status">
      <h2>{title}</h2>
      <p class="secret">
        <code>{text}</code>
        <CopyButton text={text} label={label} />
      </p>
      {children}
    </section>
  );
}
