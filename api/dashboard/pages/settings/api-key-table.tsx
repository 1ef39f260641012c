import type { ApiKeySummary } from '../../../../shared/organizations/api-keys.ts';
import { mayAct } from '../../../../shared/people/roles.ts';
import type { Context } from '../../http/access.ts';
import { Badge } from '../../layout/badge.tsx';
import { Confirm } from '../../layout/dialog.tsx';
import { type Column, Table, type TableRow } from '../../layout/table.tsx';
import { Moment } from '../../layout/values.tsx';

export interface ApiKeyTableProps {
  context: Context;
  keys: readonly ApiKeySummary[];
  /** Who created them, in words. */
  names: ReadonlyMap<string, string>;
}

const columns: readonly Column[] = [
  { title: 'Key' },
  { title: 'Created' },
  { title: 'Last used' },
  { title: 'State' },
  { title: 'What can be done', kind: 'actions' },
];

/** The keys with what they are used for, and the way to revoke each. */
export function ApiKeyTable({ context, keys, names }: ApiKeyTableProps) {
  return (
    <div class="card card-flush table-scroll">
      <Table
        caption="API keys, the newest first"
        columns={columns}
        rows={keys.map((key) => rowOf(context, key, names.get(key.createdBy)))}
      />
    </div>
  );
}

function rowOf(context: Context, apiKey: ApiKeySummary, creator: string | undefined): TableRow {
  const { id, lastFour, createdAt, lastUsedAt, revokedAt } = apiKey;
  return {
    key: id,
    id,
    cells: [
      <code key="key">...{lastFour}</code>,
      <span key="created">
        <Moment at={createdAt} />
        <span class="detail small muted">by {creator}</span>
      </span>,
      lastUsedAt === null ? (
        <span class="muted" key="used">
          never
        </span>
      ) : (
        <Moment at={lastUsedAt} key="used" />
      ),
      revokedAt === null ? (
        <Badge tone="good" key="state">
          Works
        </Badge>
      ) : (
        <span key="state">
          <Badge tone="quiet">Revoked</Badge> <Moment at={revokedAt} />
        </span>
      ),
      revokedAt === null && mayAct(context.role, 'admin') ? (
        <Revoke context={context} apiKey={apiKey} key="revoke" />
      ) : null,
    ],
  };
}

function Revoke({
  context,
  apiKey: { id, lastFour },
}: {
  context: Context;
  apiKey: Pick<ApiKeySummary, 'id' | 'lastFour'>;
}) {
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke the key ...${lastFour}?`}
      kind="danger"
      to={`${context.base}/settings/api-keys/${id}/revoke`}
      csrfToken={context.csrfToken}
    >
      <p>
        Requests with it are refused from the next one on, and this cannot be undone. Give the program that
        uses it another key first. Refunds that it has made go on.
      </p>
    </Confirm>
  );
}
