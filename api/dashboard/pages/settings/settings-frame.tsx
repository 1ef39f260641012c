import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { mayAct } from '#shared/people/roles.ts';
import { CopyButton } from '../../components/values.tsx';
import type { Context } from '../../http/access.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';

const pages = [
  { path: 'accounts', label: 'Processor accounts', role: 'viewer' },
  { path: 'members', label: 'Members', role: 'viewer' },
  { path: 'approvals', label: 'Approvals', role: 'viewer' },
  { path: 'notifications', label: 'Notifications', role: 'admin' },
  { path: 'company-sign-in', label: 'Sign-in', role: 'owner' },
] as const;

type SettingsPage = (typeof pages)[number]['path'];

interface SettingsFrameProps {
  context: Context;
  /** The page, as in its path. */
  page: SettingsPage;
  /** The label of the page by default. */
  title?: string;
  children: ComponentChildren;
}

/** A settings page, with tabs for the others. */
export function SettingsFrame({ context, page, title, children }: SettingsFrameProps) {
  const label = pages.find(({ path }) => path === page)?.label ?? 'Settings';
  return (
    <Frame context={context} title={title ?? label} section="settings">
      <nav class="tabs" aria-label="Settings">
        <ul>
          {pages
            .filter(({ role }) => mayAct(context.role, role))
            .map(({ path, label: text }) => (
              <li key={path}>
                <a
                  href={`${context.base}/settings/${path}`}
                  aria-current={path === page ? 'page' : undefined}
                >
                  {text}
                </a>
              </li>
            ))}
        </ul>
      </nav>
      {children}
    </Frame>
  );
}

/**
 * Responds to a form with its result instead of a redirect, for a secret that is shown once and must not be in an
 * address. With scripts, only `part` is replaced, so that a reload does not submit the form again.
 */
export function sendOnce(
  request: FastifyRequest,
  reply: FastifyReply,
  { part, ...frame }: { part: VNode; context: Context; page: SettingsPage },
): FastifyReply {
  if (request.headers['hx-request'] === 'true') return sendPart(reply, part);
  return sendPage(reply, <SettingsFrame {...frame}>{part}</SettingsFrame>);
}

/** A secret that is shown once, with a copy button. */
export function ShownOnce({
  title,
  text,
  label,
  children,
}: {
  title: string;
  text: string;
  /** What is copied, for screen readers. */
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
