import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { setRefundColumns } from '#shared/organizations/organization-settings.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { displayNameOf, processorNames } from '#shared/processors/registry.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, Link } from '../../components/button.tsx';
import { List } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import { follow, leadTo, page } from '../../http/page.ts';
import { accountsPath } from '../../http/paths.ts';
import { accountPage } from './account.tsx';
import { AccountBadge } from './account-state.tsx';
import { credentialPages } from './credentials.tsx';
import { columnsPath, columnsSchema, RefundColumnsForm, sentMetadataPage } from './metadata-keys.tsx';
import { SettingsFrame } from './settings-frame.tsx';

/** `/settings/accounts`: the processor accounts of the environment, the first page of the settings. */
export function accountPages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { organizationId, environment } = contextOf(request).owner;
    const accounts = await listProcessorAccounts(deps.db, organizationId, environment);
    return { accounts, now: deps.clock.now() };
  };

  scope.get('/settings', needs('viewer'), (_request, reply) => follow(reply, leadTo(accountsPath)));
  const accounts = page(scope, accountsPath, 'viewer', read, Accounts);
  accounts.form(columnsPath, 'admin', columnsSchema, async (request, { keys }) => {
    await setRefundColumns(deps, { ...actingIn(request), keys });
    return 'columns-saved';
  });
  accountPage(scope, deps);
  credentialPages(scope, deps);
  sentMetadataPage(scope, deps);
}

interface AccountsProps {
  accounts: readonly AccountName[];
  now: Date;
}

function Accounts({ accounts, now }: AccountsProps) {
  const { environment, role } = useMember();
  const isAdmin = mayAct(role, 'admin');
  return (
    <SettingsFrame page="accounts">
      <div class="spread">
        <p class="muted">
          Processor accounts of the {environment} environment. Test and live have separate accounts.
        </p>
        {isAdmin ? <AddAccount /> : null}
      </div>
      {accounts.length > 0 ? (
        <AccountList accounts={accounts} now={now} />
      ) : (
        <Empty title={`No ${environment} accounts`} icon="credit-card">
          <p>
            Payments can't be refunded until their account is added.
            {isAdmin ? null : ' Ask an admin to add it.'}
          </p>
        </Empty>
      )}
      {isAdmin ? <RefundColumnsForm /> : null}
    </SettingsFrame>
  );
}

function AddAccount() {
  return (
    <div class="row">
      {processorNames.map((processor) => (
        <ButtonLink key={processor} to={`${accountsPath}/new/${processor}`}>
          Add {displayNameOf(processor)} account
        </ButtonLink>
      ))}
    </div>
  );
}

function AccountList({ accounts, now }: AccountsProps) {
  const hasOthers = accounts.some(({ isDefault }) => !isDefault);
  return (
    <List
      caption="Processor accounts"
      items={accounts}
      columns={[
        [
          'Account',
          ({ id, name, isDefault }) => (
            <>
              <Link class="row-link" to={`${accountsPath}/${id}`}>
                {name}
              </Link>{' '}
              {hasOthers && isDefault ? <Badge tone="quiet">Default</Badge> : null}
            </>
          ),
        ],
        ['Processor', ({ processor }) => displayNameOf(processor)],
        ['State', (account) => <AccountBadge account={account} now={now} />],
        ['Credentials updated', ({ updatedAt }) => <Moment at={updatedAt} />],
      ]}
    />
  );
}
