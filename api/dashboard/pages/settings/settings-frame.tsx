import type { ComponentChildren } from 'preact';
import { mayAct } from '../../../../shared/people/roles.ts';
import type { Context } from '../../http/access.ts';
import { Frame } from '../../layout/frame.tsx';
import { Notice } from '../../layout/notice.tsx';

const pages = [
  { path: 'api-keys', label: 'API keys', role: 'viewer' },
  { path: 'accounts', label: 'Processor accounts', role: 'viewer' },
  { path: 'members', label: 'Members', role: 'viewer' },
  { path: 'audit-log', label: 'Audit log', role: 'admin' },
] as const;

export interface SettingsFrameProps {
  context: Context;
  /** The page, as its path names it. */
  page: (typeof pages)[number]['path'];
  /** Unless it is the page's own name. */
  title?: string;
  children: ComponentChildren;
}

/** A page of the room Settings, with the way to its other pages. */
export function SettingsFrame({ context, page, title, children }: SettingsFrameProps) {
  const label = pages.find(({ path }) => path === page)?.label ?? 'Settings';
  return (
    <Frame context={context} title={title ?? label} room="settings">
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

/** Says that something was done. @param words what is said, by the word in the page's address; others say nothing. */
export function Done({ done, words }: { done: string | undefined; words: ReadonlyMap<string, string> }) {
  const text = words.get(done ?? '');
  return text === undefined ? null : <Notice tone="good">{text}</Notice>;
}
