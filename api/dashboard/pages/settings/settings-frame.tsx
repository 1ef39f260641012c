import type { ComponentChildren } from 'preact';
import { mayAct } from '#shared/access/roles.ts';
import { Link } from '../../components/button.tsx';
import { useMember } from '../../http/access.ts';
import { Frame } from '../../layout/frame.tsx';

const pages = [
  { path: 'accounts', label: 'Processor accounts', role: 'viewer' },
  { path: 'approvals', label: 'Approvals', role: 'viewer' },
  { path: 'customer-texts', label: 'Message to customers', role: 'admin' },
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
  const { role: own } = useMember();
  const label = pages.find(({ path }) => path === page)?.label ?? 'Settings';
  const tabs = (
    <nav class="tabs" aria-label="Settings">
      <ul>
        {pages
          .filter(({ role }) => mayAct(own, role))
          .map(({ path, label: text }) => (
            <li key={path}>
              <Link to={`/settings/${path}`} aria-current={path === page ? 'page' : undefined}>
                {text}
              </Link>
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
