import type { ComponentChildren } from 'preact';
import { mayAct } from '#shared/people/roles.ts';
import type { Role } from '#shared/platform/database.ts';
import type { Context } from '../http/access.ts';
import { accountPath, dashboardPath, queueBoardPath } from '../http/paths.ts';
import { Switch } from './button.tsx';
import { Document } from './document.tsx';
import { Done } from './done.tsx';

/** The sections of the dashboard, in navigation order. */
export type Section = 'overview' | 'refunds' | 'policies' | 'settings' | 'health';

/** `role` is the least role that sees the section, viewer by default. */
const sections: readonly { section: Section; label: string; path: string; role?: Role }[] = [
  { section: 'overview', label: 'Overview', path: '' },
  { section: 'refunds', label: 'Refunds', path: '/refunds' },
  { section: 'policies', label: 'Policies', path: '/policies' },
  { section: 'health', label: 'Health', path: '/health', role: 'operator' },
  { section: 'settings', label: 'Settings', path: '/settings' },
];

export interface FrameProps {
  context: Context;
  title: string;
  section: Section;
  /** Shown beside the title. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** A page of an organization, with the navigation and the switch between test and live. */
export function Frame({ context, title, section, actions, children }: FrameProps) {
  const { base, environment, organization } = context;
  return (
    <Document title={`${title} · ${organization.name}`} environment={environment}>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <div class="frame">
        <header class="bar">
          <a class="brand" href={base}>
            {organization.name}
          </a>
          <EnvironmentSwitch context={context} section={section} />
          <a class="account" href={accountPath} title={`Your account. Role: ${context.role}`}>
            {context.user.email}
          </a>
        </header>
        <nav class="nav" aria-label="Main">
          <ul>
            {visibleTo(context.role).map(({ section: each, label, path }) => (
              <li key={each}>
                <a href={`${base}${path}`} aria-current={each === section ? 'page' : undefined}>
                  {label}
                </a>
              </li>
            ))}
            {/* The board itself admits only operators of every organization. */}
            {mayAct(context.role, 'operator') ? (
              <li>
                <a href={queueBoardPath}>Queues</a>
              </li>
            ) : null}
          </ul>
        </nav>
        <main class="main" id="main">
          <div class="page-head spread">
            <h1>{title}</h1>
            {actions === undefined ? null : <div class="row">{actions}</div>}
          </div>
          <div class="stack">
            <Done query={context.query} />
            {children}
          </div>
        </main>
      </div>
    </Document>
  );
}

function visibleTo(role: Role) {
  return sections.filter((section) => mayAct(role, section.role ?? 'viewer'));
}

/** Switches between test data, which never moves money, and live data. */
function EnvironmentSwitch({ context, section }: { context: Context; section: Section }) {
  const path = sections.find(({ section: each }) => each === section)?.path ?? '';
  const links = (['test', 'live'] as const).map((environment) => ({
    to: `${dashboardPath}/${context.organization.id}/${environment}${path}`,
    text: environment === 'test' ? 'Test' : 'Live',
    isCurrent: environment === context.environment,
  }));
  return <Switch label="Environment" links={links} />;
}
