import { auditActions } from '#shared/platform/audit-log.ts';
import type { AuditLog } from '#shared/platform/database.ts';
import { isEnvironment } from '#shared/platform/environment.ts';
import { List } from '../../components/list.tsx';
import { Moment } from '../../components/values.tsx';
import type { AuditView } from './audit-log.tsx';

/** The labels of all actions, in display order. */
export const actionLabels: ReadonlyMap<string, string> = new Map(Object.entries(auditActions));

/** The label of an action; an action of another version of the service is shown by its name. */
export function describeAction(action: string): string {
  return actionLabels.get(action) ?? action.replaceAll(/[._]/g, ' ');
}

type AuditTableProps = Pick<AuditView, 'context' | 'page' | 'names' | 'refundEnvironments'>;

/** A table of audit entries. */
export function AuditTable({ page, ...view }: AuditTableProps) {
  return (
    <List
      caption="Audit log, newest first"
      items={page.entries}
      columns={[
        ['Time', ({ createdAt }) => <Moment at={createdAt} />],
        ['Actor', ({ actor }) => <Actor {...view} actor={actor} />],
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

/** Links to all entries of the actor. */
function Actor({ context, names, actor }: Pick<AuditTableProps, 'context' | 'names'> & { actor: string }) {
  const query = new URLSearchParams({ actor });
  return <a href={`${context.base}/settings/audit-log?${query}`}>{names.get(actor) ?? actor}</a>;
}

/** Links to what was changed, where it has a page. */
function Target(props: Omit<AuditTableProps, 'page'> & { entry: AuditLog }) {
  const { names, entry } = props;
  const { target } = entry;
  const path = pathTo(props);
  const text = names.get(`user:${target}`) ?? target;
  if (path === null) return target.startsWith('usr_') ? <span class="muted">{text}</span> : null;
  return <a href={path}>{text}</a>;
}

function pathTo({
  context,
  refundEnvironments,
  entry: { target, detail },
}: Omit<AuditTableProps, 'page'> & { entry: AuditLog }): string | null {
  const organization = `/dashboard/${context.organization.id}`;
  const refundEnvironment = refundEnvironments.get(target);
  if (refundEnvironment !== undefined) return `${organization}/${refundEnvironment}/refunds/${target}`;
  const environment = environmentIn(detail);
  if (environment === null) return null;
  if (target.startsWith('key_')) return `${organization}/${environment}/settings/api-keys#${target}`;
  if (target.startsWith('acc_')) return `${organization}/${environment}/settings/accounts`;
  if (target.startsWith('we_')) return `${organization}/${environment}/webhooks/${target}`;
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
