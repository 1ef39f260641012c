import type { ComponentChildren } from 'preact';
import { mayAct } from '#shared/access/roles.ts';
import { CopyButton } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { Frame } from '../../layout/frame.tsx';

const pages = [
  { path: 'accounts', label: 'Processor accounts', role: 'viewer' },
  { path: 'approvals', label: 'Approvals', role: 'viewer' },
  { path: 'notifications', label: 'Notifications', role: 'admin' },
  { path: 'company-sign-in', label: 'Sign-in', role: 'owner' },
] as const;

interface SettingsFrameProps {
  /** The page, as in its path. */
  page: (typeof pages)[number]['path'];
  /** The label of the page by default. */
  title?: string;
  children: ComponentChildren;
}

/** A settings page, with tabs for the others. */
export function SettingsFrame({ page, title, children }: SettingsFrameProps) {
  const { base, role: own } = useMember();
  const label = pages.find(({ path }) => path === page)?.label ?? 'Settings';
  const tabs = (
    <nav class="tabs" aria-label="Settings">
      <ul>
        {pages
          .filter(({ role }) => mayAct(own, role))
          .map(({ path, label: text }) => (
            <li key={path}>
              <a href={`${base}/settings/${path}`} aria-current={path === page ? 'page' : undefined}>
                {text}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  );
  return (
    <Frame title={title ?? label} section="settings" tabs={tabs}>
      {children}
    </Frame>
  );
}

interface ShownOnceProps {
  title: string;
  text: string;
  /** What is copied, for screen readers. */
  label: string;
  children: ComponentChildren;
}

/**
 * A secret with a copy button. It responds to the form that made it, because a secret must not be in the address of a
 * redirect; with scripts only a part of the page is replaced, so that a reload does not send the form again.
 */
export function ShownOnce({ title, text, label, children }: ShownOnceProps) {
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
