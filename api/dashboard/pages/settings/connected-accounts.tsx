import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { listConnectedAccounts } from '#shared/processors/accounts/connected-accounts.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { Link } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { FilterForm } from '../../components/filter-form.tsx';
import { List } from '../../components/list.tsx';
import { Moment } from '../../components/values.tsx';
import { type Filter, filterIn } from '../../http/filter.ts';
import { accountsPath } from '../../http/paths.ts';
import { AccountBadge } from './account-state.tsx';

const mostShown = 50;

const filterSchema = z.object({
  connected: z
    .string()
    .trim()
    .max(255)
    .default('')
    .catch('')
    .meta({ title: 'Connected account', description: 'Any part of its ID at the processor.' }),
});

export interface ConnectedAccountsProps {
  account: AccountName;
  filter: Filter<unknown>;
  /** The latest used that match. */
  connected: readonly AccountName[];
  hasMore: boolean;
  now: Date;
}

/** What is connected to an account, as the address of its page asks for. */
export async function readConnected(
  { db }: Pick<ApiDependencies, 'db'>,
  { query }: FastifyRequest,
  account: AccountName,
): Promise<Pick<ConnectedAccountsProps, 'filter' | 'connected' | 'hasMore'>> {
  const filter = filterIn(filterSchema, query);
  const text = filter.reading.kind === 'valid' ? filter.reading.value.connected : '';
  const found = await listConnectedAccounts(db, account, { text, limit: mostShown + 1 });
  return { filter, connected: found.slice(0, mostShown), hasMore: found.length > mostShown };
}

/** The accounts that are connected to one; nothing for one that has none or is connected itself. */
export function ConnectedAccounts({ account, filter, connected, hasMore, now }: ConnectedAccountsProps) {
  const isFiltered = Object.keys(filter.entered).length > 0;
  const mayHave = processorKind(account.processor).connectedAccountId !== null && account.parentId === null;
  if (!mayHave || (connected.length === 0 && !isFiltered)) return null;
  const isSearchable = hasMore || isFiltered;
  return (
    <Card id="connected-accounts" title="Connected accounts">
      {isSearchable ? (
        <FilterForm to={`${accountsPath}/${account.id}`} schema={filterSchema} filter={filter} />
      ) : null}
      {connected.length === 0 ? (
        <p class="muted">None matches.</p>
      ) : (
        <ConnectedList {...{ connected, now }} />
      )}
      {hasMore ? <p class="small muted">These were used last. Search for the others.</p> : null}
    </Card>
  );
}

function ConnectedList({ connected, now }: Pick<ConnectedAccountsProps, 'connected' | 'now'>) {
  return (
    <List
      caption="Connected accounts, the latest used first"
      isInCard
      items={connected}
      columns={[
        [
          'Account',
          ({ id, connectedAccount }) => (
            <Link class="row-link" to={`${accountsPath}/${id}`}>
              {connectedAccount}
            </Link>
          ),
        ],
        ['State', (each) => <AccountBadge account={each} now={now} />],
        ['Last used', ({ usedAt }) => usedAt && <Moment at={usedAt} />],
      ]}
    />
  );
}
