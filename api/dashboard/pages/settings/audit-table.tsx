import { type AuditAction, auditActions } from '#shared/platform/audit-log.ts';
import type { AuditLog } from '#shared/platform/database.ts';
import { isEnvironment } from '#shared/platform/environment.ts';
import { List } from '../../components/list.tsx';
import { Moment } from '../../components/values.tsx';
import { useAddress, useMember } from '../../http/access.ts';
import { dashboardPath } from '../../http/paths.ts';
import type { AuditView } from './audit-log.tsx';

/** The label of an action; an action of another version of the service is shown by its name. */
export function describeAction(action: string): string {
  return Object.hasOwn(auditActions, action)
    ? auditActions[action as AuditAction]
    : action.replaceAll(/[._]/g, ' ');
}

/** A table of audit entries. An actor links to all its entries. */
export function AuditTable({ entries, ...view }: AuditView) {
  const log = useAddress('/settings/audit-log');
  return (
    <List
      caption="Activity, newest first"
      items={entries}
      columns={[
        ['Time', ({ createdAt }) => <Moment at={createdAt} />],
        [
          'Actor',
          ({ actor }) => (
            <a href={`${log}?${new URLSearchParams({ actor })}`}>{view.names.get(actor) ?? actor}</a>
          ),
        ],
        [
          'Action',
          (entry) => (
            <span>
              {describeAction(entry.action)} <Target {...view} entry={entry} />
            </span>
          ),
        ],
        ['Details', ({ detail }) => <Detail detail={detail} />],
      ]}
    />
  );
}

interface TargetProps extends Pick<AuditView, 'names' | 'refundEnvironments'> {
  entry: AuditLog;
}

/** Links to what was changed, where it has a page. */
function Target({ names, refundEnvironments, entry: { target, detail } }: TargetProps) {
  const isRefund = target.startsWith('ref_');
  const path = usePathTo(target, isRefund ? refundEnvironments.get(target) : environmentIn(detail));
  const text = names.get(`user:${target}`) ?? target;
  if (path === null) return target.startsWith('usr_') ? <span class="muted">{text}</span> : null;
  return <a href={path}>{text}</a>;
}

function usePathTo(target: string, environment: string | null | undefined): string | null {
  const base = `${dashboardPath}/${useMember().organization.id}/${environment}`;
  if (environment === null || environment === undefined) return null;
  if (target.startsWith('ref_')) return `${base}/refunds/${target}`;
  if (target.startsWith('key_')) return `${base}/settings/api-keys#${target}`;
  if (target.startsWith('acc_')) return `${base}/settings/accounts`;
  if (target.startsWith('we_')) return `${base}/webhooks/${target}`;
  return null;
}

function environmentIn(detail: AuditLog['detail']): string | null {
  if (typeof detail !== 'object' || detail === null || !('environment' in detail)) return null;
  const { environment } = detail;
  return typeof environment === 'string' && isEnvironment(environment) ? environment : null;
}

/** Simple details in one line, nested ones as JSON. */
function Detail({ detail }: Pick<AuditLog, 'detail'>) {
  if (typeof detail !== 'object' || detail === null) return null;
  const facts = Object.entries(detail).filter(([, value]) => value !== null && value !== undefined);
  if (facts.length === 0) return null;
  if (facts.some(([, value]) => typeof value === 'object')) {
    return (
      <details class="small">
        <summary>Show</summary>
        <pre>{JSON.stringify(detail, null, 2)}</pre>
      </details>
    );
  }
  const words = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return (
    <span class="small">{facts.map(([name, value]) => `${words(name)}: ${String(value)}`).join(', ')}</span>
  );
}
