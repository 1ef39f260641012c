import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { refusalInShort, refusalsOf } from '#shared/processors/accounts/ability-wording.ts';
import { type AccountName, findOwnAccount } from '#shared/processors/accounts/account.ts';
import { limitedOperations } from '#shared/processors/accounts/rate-limits.ts';
import { type ConnectionTest, testConnection } from '#shared/processors/accounts/test-connection.ts';
import { displayNameOf, processorKind } from '#shared/processors/registry.ts';
import { ButtonLink, Link } from '../../components/button.tsx';
import { Facts } from '../../components/card.tsx';
import { Post } from '../../components/form.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { contextOf, useMember } from '../../http/access.ts';
import { page } from '../../http/page.ts';
import { accountsPath, originOf, receivedEventsPath } from '../../http/paths.ts';
import { isForPart, useRequest } from '../../http/render.ts';
import { accountInPath } from './account-in-path.ts';
import { Abilities, AccountBadge, RateLimits, TestResult } from './account-state.tsx';
import { ConnectedAccounts, type ConnectedAccountsProps, readConnected } from './connected-accounts.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = `${accountsPath}/:accountId`;

/** `/settings/accounts/<id>`: an account, also a connected one, with what its credentials may do and what is connected to it. */
export function accountPage(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest): Promise<AccountProps> => {
    const account = await accountInPath(deps, request);
    const { parentId } = account;
    const parent = parentId === null ? null : await findOwnAccount(deps.db, account, parentId);
    return { account, parent, now: deps.clock.now(), ...(await readConnected(deps, request, account)) };
  };
  page(scope, path, 'viewer', read, Account).button(`${path}/test`, 'admin', async (request) => {
    const { actor } = contextOf(request);
    const test = await testConnection(deps, { account: await accountInPath(deps, request), actor });
    return isForPart(request) ? <AccountCard {...(await read(request))} test={test} /> : { test };
  });
}

interface AccountCardProps {
  account: AccountName;
  /** The one that it is connected to; null for one with credentials of its own. */
  parent: AccountName | null;
  /** Of the connection, when it was just tested. */
  test?: ConnectionTest;
  now: Date;
}

type AccountProps = AccountCardProps & ConnectedAccountsProps;

function Account(props: AccountProps) {
  return (
    <SettingsFrame page="accounts" title={props.account.name}>
      <AccountCard {...props} />
      <ConnectedAccounts {...props} />
    </SettingsFrame>
  );
}

function AccountCard({ account, parent, test, now }: AccountCardProps) {
  const displayName = displayNameOf(account.processor);
  return (
    <section class="card stack" id="account" aria-labelledby="account-title">
      <div class="spread">
        <h2 id="account-title">{displayName}</h2>
        <AccountBadge {...{ account, test, now }} />
      </div>
      {test && <TestResult test={test} displayName={displayName} />}
      <Abilities account={account} test={test} />
      <AccountFacts {...{ account, parent, now }} />
      {mayAct(useMember().role, 'admin') ? <AccountActions account={account} /> : null}
    </section>
  );
}

function AccountFacts({ account, parent, now }: Omit<AccountCardProps, 'test'>) {
  const { misconfiguredAt, updatedAt, processor, sentMetadataKeys, connectedAccount } = account;
  const { displayName, keepsMetadata } = processorKind(processor);
  const refusals = refusalsOf(account);
  const limited = limitedOperations(account, now);
  return (
    <Facts
      facts={[
        ['ID', <Copyable key="id" text={account.id} label="the account ID" />],
        ['Connected to', parent && <Link to={`${accountsPath}/${parent.id}`}>{parent.name}</Link>],
        [`At ${displayName}`, connectedAccount && <code>{connectedAccount}</code>],
        [
          `${refusalInShort(refusals)} since`,
          misconfiguredAt && (
            <>
              <Moment at={misconfiguredAt} />. {adviceFor(refusals, displayName)}
            </>
          ),
        ],
        ['Rate limited', limited.length > 0 ? <RateLimits limited={limited} /> : null],
        ['Calls per second', account.callsPerSecond === null ? null : account.callsPerSecond || 'No limit'],
        ['Credentials updated', <Moment key="updated" at={updatedAt} />],
        ['Metadata sent', keepsMetadata ? sentMetadataKeys.join(', ') || 'None' : null],
        ['Webhook URL', parent === null ? <WebhookAddress {...account} /> : null],
        [
          'Refunds',
          <Link key="refunds" to={`/refunds?account=${account.id}`}>
            View refunds
          </Link>,
        ],
      ]}
    />
  );
}

/** Where the processor sends the events of an account. */
export function WebhookAddress({ processor, id }: Pick<AccountName, 'processor' | 'id'>) {
  const { displayName, webhooks } = processorKind(processor);
  return (
    <>
      <Copyable text={`${originOf(useRequest())}/webhooks/${processor}/${id}`} label="webhook URL" />
      <p class="small muted">
        Add this URL in {displayName}. {webhooks.setUp}
      </p>
      {mayAct(useMember().role, 'operator') ? (
        <Link to={`${receivedEventsPath}?processor=${processor}`}>Events of {displayName}</Link>
      ) : null}
    </>
  );
}

function AccountActions({ account: { id, processor, parentId } }: Pick<AccountCardProps, 'account'>) {
  const to = `${accountsPath}/${id}`;
  return (
    <div class="row">
      <Post to={`${to}/test`} answeredIn="account">
        Test connection
      </Post>
      {parentId === null ? <ButtonLink to={`${to}/credentials`}>Replace credentials</ButtonLink> : null}
      {parentId === null && processorKind(processor).keepsMetadata ? (
        <ButtonLink to={`${to}/metadata`}>Choose metadata</ButtonLink>
      ) : null}
    </div>
  );
}

function adviceFor(refusals: readonly string[], displayName: string): string {
  if (refusals.includes('credentials')) {
    return 'Refunds wait until you replace the credentials or they work again.';
  }
  if (refusals.every((each) => each === 'webhooks')) return 'Check the signing secret.';
  return `Add the permission in ${displayName}, then test the connection.`;
}
