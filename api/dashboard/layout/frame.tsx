import type { ComponentChildren } from 'preact';
import { mayAct } from '#shared/access/roles.ts';
import type { Role } from '#shared/platform/database.ts';
import { Key, Link, Switch, useShortcut } from '../components/button.tsx';
import { Icon, type IconName, Mark } from '../components/icon.tsx';
import { type Context, useMember } from '../http/access.ts';
import { accountPath, dashboardPath } from '../http/paths.ts';
import { isForPart, useRequest } from '../http/render.ts';
import { Document } from './document.tsx';
import { Messages } from './messages.tsx';
import { SearchDialog } from './search-dialog.tsx';

/** An entry of the navigation. `role` is the least role that sees it, viewer by default; `group` is the title above it. */
interface Entry {
  label: string;
  /** Below the environment. */
  path: string;
  icon: IconName;
  role?: Role;
  group?: 'Developers' | 'Operations' | 'Organization';
}

/** The sections of the dashboard in navigation order. */
const sections = {
  overview: { label: 'Overview', path: '', icon: 'home' },
  refunds: { label: 'Refunds', path: '/refunds', icon: 'undo' },
  approvals: { label: 'Approvals', path: '/approvals', icon: 'checklist' },
  attention: { label: 'Needs attention', path: '/refunds?needsAttention=true', icon: 'alert' },
  batches: { label: 'Batches', path: '/batches', icon: 'rows' },
  policies: { label: 'Policies', path: '/policies', icon: 'law' },
  'api-keys': { label: 'API keys', path: '/settings/api-keys', icon: 'key', group: 'Developers' },
  webhooks: { label: 'Webhooks', path: '/webhooks', icon: 'webhook', role: 'operator', group: 'Developers' },
  'failed-requests': {
    label: 'Failed requests',
    path: '/failed-requests',
    icon: 'x-circle',
    role: 'operator',
    group: 'Developers',
  },
  health: { label: 'Health', path: '/health', icon: 'pulse', role: 'operator', group: 'Operations' },
  reconciliation: {
    label: 'Reconciliation',
    path: '/reconciliation',
    icon: 'arrow-switch',
    role: 'operator',
    group: 'Operations',
  },
  activity: {
    label: 'Activity',
    path: '/settings/audit-log',
    icon: 'history',
    role: 'admin',
    group: 'Organization',
  },
  members: { label: 'Members', path: '/settings/members', icon: 'people', group: 'Organization' },
  settings: { label: 'Settings', path: '/settings', icon: 'gear', group: 'Organization' },
} as const satisfies Record<string, Entry>;

type Section = keyof typeof sections;

/** A page above another one: its title, and its path below the environment. */
type Crumb = readonly [title: string, path: string];

interface FrameProps {
  title: string;
  section: Section;
  /** The pages between the section and this one. The section leads the way to every page with another title than its own. */
  trail?: readonly Crumb[];
  /** Shown beside the title: a state. */
  beside?: ComponentChildren;
  /** Buttons at the end of the title's line. */
  actions?: ComponentChildren;
  /** Above the content: links to other pages of the section. */
  tabs?: ComponentChildren;
  children: ComponentChildren;
}

/**
 * A page of an organization: navigation, search, the switch between test and live, breadcrumbs, title and actions. To a script
 * that replaces a part of the page it sends the content alone.
 */
export function Frame({ title, section, trail = [], beside, actions, tabs, children }: FrameProps) {
  const context = useMember();
  if (isForPart(useRequest())) return <>{children}</>;
  const { environment, organization } = context;
  const { label, path } = sections[section];
  const above: Crumb[] = title === label ? [] : [[label, path], ...trail];
  return (
    <Document title={`${title} · ${organization.name}`} environment={environment}>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <div class="frame">
        <Side context={context} section={section} />
        <main class="main" id="main">
          <header class="page-head">
            <Breadcrumbs above={above} />
            <div class="spread">
              <div class="row">
                <h1>{title}</h1>
                {beside}
              </div>
              {actions === undefined ? null : <div class="row">{actions}</div>}
            </div>
          </header>
          <div class="stack">
            <Messages />
            {tabs}
            {children}
          </div>
        </main>
      </div>
      <SearchDialog />
    </Document>
  );
}

function Breadcrumbs({ above }: { above: readonly Crumb[] }) {
  if (above.length === 0) return null;
  return (
    <nav class="crumbs" aria-label="Breadcrumbs">
      <ol>
        {above.map(([title, path]) => (
          <li key={path}>
            <Link to={path}>{title}</Link>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** What every page has: organization, environment, search, navigation, account. */
function Side({ context, section }: { context: Context; section: Section }) {
  const { organization, role, user } = context;
  return (
    <div class="side">
      <Link class="brand" to="">
        <Mark />
        <span>{organization.name}</span>
      </Link>
      <EnvironmentSwitch context={context} section={section} />
      <button
        type="button"
        class="button outline search-button"
        aria-label="Search"
        aria-keyshortcuts={useShortcut('/')}
        {...{ command: 'show-modal', commandfor: 'search' }}
      >
        <Icon name="search" /> <span>Search</span>
        <Key shortcut="/" />
      </button>
      <button type="button" class="button outline menu-button" aria-label="Menu" popovertarget="nav">
        <Icon name="three-bars" />
      </button>
      <nav class="nav" id="nav" aria-label="Main" popover="auto">
        {groupsFor(role).map(([title, members]) => (
          <ul key={title}>
            {title === '' ? null : <li class="nav-title small muted">{title}</li>}
            {members.map((each) => (
              <NavItem key={each} context={context} section={each} isCurrent={each === section} />
            ))}
            {title !== 'Developers' ? null : (
              <li>
                <a href="/docs">
                  <Icon name="book" /> API reference
                </a>
              </li>
            )}
          </ul>
        ))}
        <Link class="account" to={accountPath} title={`Your account. Role: ${role}`}>
          <Icon name="person" /> <span>{user.email}</span>
        </Link>
      </nav>
    </div>
  );
}

/** The sections that a role sees, by group. */
function groupsFor(role: Role): [title: string, members: Section[]][] {
  const groups = new Map<string, Section[]>();
  for (const section of Object.keys(sections) as Section[]) {
    const { role: least = 'viewer', group }: Entry = sections[section];
    const title = group ?? '';
    if (mayAct(role, least)) groups.set(title, [...(groups.get(title) ?? []), section]);
  }
  return [...groups];
}

function NavItem({
  context,
  section,
  isCurrent,
}: {
  context: Context;
  section: Section;
  isCurrent: boolean;
}) {
  const { label, path, icon } = sections[section];
  const count =
    { approvals: context.counts.approvals, attention: context.counts.attention }[section as string] ?? 0;
  return (
    <li>
      <Link to={path} aria-current={isCurrent ? 'page' : undefined}>
        <Icon name={icon} /> {label}{' '}
        {count === 0 ? null : <span class="count">{count > 99 ? '99+' : count}</span>}
      </Link>
    </li>
  );
}

/** Switches between test data, which never moves money, and live data. */
function EnvironmentSwitch({ context, section }: { context: Context; section: Section }) {
  const links = (['test', 'live'] as const).map((environment) => ({
    to: `${dashboardPath}/${context.organization.id}/${environment}${sections[section].path}`,
    text: environment === 'test' ? 'Test' : 'Live',
    isCurrent: environment === context.environment,
  }));
  return <Switch label="Environment" links={links} />;
}
