import type { AuditLog } from '../../../../shared/platform/database.ts';
import { isEnvironment } from '../../../../shared/platform/environment.ts';
import { type Column, Table } from '../../layout/table.tsx';
import { Moment } from '../../layout/values.tsx';
import type { AuditView } from './audit-log.tsx';
import { wordsForAction, wordsForDetail } from './audit-words.ts';

type AuditTableProps = Pick<AuditView, 'context' | 'page' | 'names' | 'refundEnvironments'>;

/** Who did what to which, the newest first. */
export function AuditTable({ page, ...view }: AuditTableProps) {
  return (
    <div class="card card-flush table-scroll">
      <Table
        caption="Acts, the newest first"
        columns={columns}
        rows={page.entries.map((entry) => ({
          key: entry.id,
          cells: [
            <Moment at={entry.createdAt} key="when" />,
            <Actor {...view} actor={entry.actor} key="who" />,
            <span key="what">
              {wordsForAction(entry.action)} <Target {...view} entry={entry} />
            </span>,
            <Detail detail={entry.detail} key="detail" />,
          ],
        }))}
      />
    </div>
  );
}

const columns: readonly Column[] = [
  { title: 'When' },
  { title: 'Who' },
  { title: 'Did what' },
  { title: 'Details' },
];

/** Leads to everything that the same one did. */
function Actor({ context, names, actor }: Pick<AuditTableProps, 'context' | 'names'> & { actor: string }) {
  const query = new URLSearchParams({ actor });
  return <a href={`${context.base}/settings/audit-log?${query}`}>{names.get(actor) ?? actor}</a>;
}

/** What was changed, with the way there. */
function Target(props: Omit<AuditTableProps, 'page'> & { entry: AuditLog }) {
  const { names, entry } = props;
  const { target } = entry;
  const path = pathTo(props);
  const text = names.get(`user:${target}`) ?? target;
  if (path === null) return target.startsWith('usr_') ? <span class="muted">{text}</span> : null;
  return <a href={path}>{text}</a>;
}

/** Null where there is no page of it. */
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
  return null;
}

function environmentIn(detail: AuditLog['detail']): string | null {
  if (typeof detail !== 'object' || detail === null || !('environment' in detail)) return null;
  const { environment } = detail;
  return typeof environment === 'string' && isEnvironment(environment) ? environment : null;
}

function Detail({ detail }: Pick<AuditLog, 'detail'>) {
  const words = wordsForDetail(detail);
  if (words === null) return null;
  if (!words.isLong) return <span class="small">{words.text}</span>;
  return (
    <details class="small">
      <summary>Show</summary>
      <pre class="sample">{words.text}</pre>
    </details>
  );
}
