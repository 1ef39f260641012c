import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { setRefundColumns } from '#shared/organizations/organization-settings.ts';
import { abilitiesOf, refusedAbilities, stateOf } from '#shared/processors/accounts/abilities.ts';
import { abilityLabels, refusalInShort, refusalsOf } from '#shared/processors/accounts/ability-wording.ts';
import { findAccount } from '#shared/processors/accounts/account.ts';
import {
  type AccountSummary,
  listProcessorAccounts,
  listUsableAccounts,
  type UsableAccount,
} from '#shared/processors/accounts/manage-accounts.ts';
import {
  type LimitedOperation,
  limitedOperations,
  operationLabels,
} from '#shared/processors/accounts/rate-limits.ts';
import { type ConnectionTest, testConnection } from '#shared/processors/accounts/test-connection.ts';
import { type Ability, abilities } from '#shared/processors/contract/processor.ts';
import { displayNameOf, processorKind, processorNames } from '#shared/processors/registry.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, Link } from '../../components/button.tsx';
import { Facts } from '../../components/card.tsx';
import { Post } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Notice } from '../../components/notice.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import { follow, leadTo, page } from '../../http/page.ts';
import { originOf, receivedEventsPath } from '../../http/paths.ts';
import { isForPart, useRequest } from '../../http/render.ts';
import { credentialPages, processorInPath } from './credentials.tsx';
import { columnsPath, columnsSchema, RefundColumnsForm, sentMetadataPage } from './metadata-keys.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/accounts';

/** `/settings/accounts`: the processor accounts of the environment, the first page of the settings. */
export function accountPages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { organizationId, environment } = contextOf(request).owner;
    return {
      accounts: await listProcessorAccounts(deps.db, organizationId, environment),
      usable: await listUsableAccounts(deps.db, { organizationId, environment }),
      now: deps.clock.now(),
    };
  };

  scope.get('/settings', needs('viewer'), (_request, reply) => follow(reply, leadTo(path)));
  const accounts = page(scope, path, 'viewer', read, Accounts);
  accounts.button(`${path}/:processor/test`, 'admin', async (request) => {
    const processor = processorInPath(request);
    const test = await testAccount(deps, request, processor);
    if (!isForPart(request)) return { tested: processor, test };
    return <AccountCard {...(await read(request))} {...{ processor, test }} />;
  });
  accounts.form(columnsPath, 'admin', columnsSchema, async (request, { keys }) => {
    await setRefundColumns(deps, { ...actingIn(request), keys });
    return 'columns-saved';
  });
  credentialPages(scope, deps);
  sentMetadataPage(scope, deps);
}

/** @throws ServiceError not_found for an account that is not set up. */
async function testAccount(
  deps: ApiDependencies,
  request: FastifyRequest,
  processor: string,
): Promise<ConnectionTest> {
  const { owner, actor } = contextOf(request);
  return await testConnection(deps, { account: await findAccount(deps.db, { ...owner, processor }), actor });
}

interface AccountsProps {
  accounts: readonly AccountSummary[];
  /** With the connected accounts that are in use. */
  usable: readonly UsableAccount[];
  /** The account whose connection was just tested. */
  tested?: string;
  test?: ConnectionTest;
  now: Date;
}

function Accounts({ tested, test, ...view }: AccountsProps) {
  const { environment, role } = useMember();
  return (
    <SettingsFrame page="accounts">
      <p class="muted">
        Processor accounts of the {environment} environment. Test and live have separate accounts.
      </p>
      <div class="columns">
        {processorNames.map((processor) => (
          <AccountCard
            key={processor}
            {...view}
            processor={processor}
            test={tested === processor ? test : undefined}
          />
        ))}
      </div>
      {mayAct(role, 'admin') ? <RefundColumnsForm /> : null}
    </SettingsFrame>
  );
}

interface AccountCardProps {
  accounts: readonly AccountSummary[];
  usable: readonly UsableAccount[];
  processor: string;
  test: ConnectionTest | undefined;
  now: Date;
}

function AccountCard({ accounts, usable, processor, test, now }: AccountCardProps) {
  const { displayName } = processorKind(processor);
  const account = accounts.find((each) => each.processor === processor && each.isDefault);
  const others = usable.filter((each) => each.processor === processor && each.id !== account?.id);
  const isAdmin = mayAct(useMember().role, 'admin');
  return (
    <section class="card stack" id={`account-${processor}`} aria-labelledby={`${processor}-title`}>
      <div class="spread">
        <h2 id={`${processor}-title`}>{displayName}</h2>
        <AccountBadge {...{ account, test, now }} />
      </div>
      {test && <TestResult test={test} displayName={displayName} />}
      {account && <Abilities account={account} test={test} />}
      {account === undefined ? (
        <p class="muted">
          {displayName} payments can't be refunded until this account is set up.
          {isAdmin ? null : ' Ask an admin to set it up.'}
        </p>
      ) : (
        <AccountDetails account={account} now={now} />
      )}
      {others.length > 0 ? <OtherAccounts others={others} displayName={displayName} /> : null}
      {isAdmin ? <AccountActions processor={processor} isSetUp={account !== undefined} /> : null}
    </section>
  );
}

/** The other accounts at the processor, and those that are connected to one of them and in use. */
function OtherAccounts({ others, displayName }: { others: readonly UsableAccount[]; displayName: string }) {
  return (
    <List
      caption={`Other accounts at ${displayName}`}
      isInCard
      items={others}
      columns={[
        ['Other accounts', ({ name }) => name],
        ['ID', ({ id, name }) => <Copyable text={id} label={`the ID of ${name}`} />],
        ['Connected', ({ connectedAccount }) => (connectedAccount === null ? 'No' : 'Yes')],
        [
          'State',
          (each) => {
            const refused = refusedAbilities(abilitiesOf(each));
            return refused.length === 0 ? null : <Badge tone="bad">{refusalInShort(refused)}</Badge>;
          },
        ],
      ]}
    />
  );
}

interface AccountBadgeProps extends Pick<AccountCardProps, 'test' | 'now'> {
  /** Undefined when it is not set up. */
  account: AccountSummary | undefined;
}

/** What is known of the account: whether it works only after a test. */
function AccountBadge({ account, now, test }: AccountBadgeProps) {
  if (account === undefined) return <Badge tone="quiet">Not set up</Badge>;
  const { misconfiguredAt } = account;
  if (misconfiguredAt !== null) return <Badge tone="bad">{refusalInShort(refusalsOf(account))}</Badge>;
  if (limitedOperations(account, now).length > 0) return <Badge tone="warn">Rate limited</Badge>;
  if (test?.verdict === 'works') return <Badge tone="good">Connected</Badge>;
  return null;
}

function AccountDetails({ account, now }: { account: AccountSummary; now: Date }) {
  const { misconfiguredAt, updatedAt, id, processor, sentMetadataKeys } = account;
  const { displayName, webhooks, keepsMetadata } = processorKind(processor);
  const refusals = refusalsOf(account);
  const limited = limitedOperations(account, now);
  const webhookUrl = `${originOf(useRequest())}/webhooks/${processor}/${id}`;
  return (
    <Facts
      facts={[
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
        [
          'Webhook URL',
          <>
            <Copyable text={webhookUrl} label="webhook URL" />
            <p class="small muted">
              Add this URL in {displayName}. {webhooks.setUp}
            </p>
            {mayAct(useMember().role, 'operator') ? (
              <Link to={`${receivedEventsPath}?processor=${processor}`}>Events of {displayName}</Link>
            ) : null}
          </>,
        ],
      ]}
    />
  );
}

function RateLimits({ limited }: { limited: readonly LimitedOperation[] }) {
  return (
    <>
      {limited.map(({ operation, pausedUntil, limitedUntil }) => (
        <p key={operation}>
          {operationLabels[operation]}: {pausedUntil === null ? 'slowed' : 'paused'} until{' '}
          <Moment at={pausedUntil ?? limitedUntil} />.
        </p>
      ))}
      <p class="small muted">Refunds resume automatically.</p>
    </>
  );
}

function AccountActions({ processor, isSetUp }: { processor: string; isSetUp: boolean }) {
  const to = `${path}/${processor}`;
  const { displayName, keepsMetadata } = processorKind(processor);
  return (
    <div class="row">
      {isSetUp ? (
        <Post to={`${to}/test`} answeredIn={`account-${processor}`}>
          Test connection<span class="visually-hidden"> to {displayName}</span>
        </Post>
      ) : null}
      <ButtonLink kind={isSetUp ? undefined : 'primary'} to={to}>
        {isSetUp ? 'Replace credentials' : 'Set up'}
        <span class="visually-hidden"> {isSetUp ? `of ${displayName}` : displayName}</span>
      </ButtonLink>
      {isSetUp && keepsMetadata ? (
        <ButtonLink to={`${to}/metadata`}>
          Choose metadata<span class="visually-hidden"> for {displayName}</span>
        </ButtonLink>
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

/** What the account's credentials may do, as the last calls or a test showed. */
function Abilities({ account, test }: { account: AccountSummary; test: ConnectionTest | undefined }) {
  const states = abilities.map((ability) => ({ ability, ...shownState(account, ability, test) }));
  return (
    <List
      caption={`What the credentials of ${displayNameOf(account.processor)} may do`}
      isInCard
      items={states}
      columns={[
        ['Ability', ({ ability }) => abilityLabels[ability]],
        ['State', ({ state }) => <Badge tone={stateTones[state]}>{stateLabels[state]}</Badge>],
        ['Since', ({ since }) => (since === null ? '' : <Moment at={since} />)],
        ['Details', ({ permission, words }) => <Details permission={permission} words={words} />],
      ]}
    />
  );
}

const stateLabels = { works: 'Works', refused: 'Refused', unknown: 'Unknown' } as const;
const stateTones = { works: 'good', refused: 'bad', unknown: 'quiet' } as const;

function Details({ permission, words }: { permission: string | undefined; words: string | undefined }) {
  return (
    <span class="small muted said">
      {permission === undefined ? null : (
        <>
          Missing permission: <code>{permission}</code>.{' '}
        </>
      )}
      {words}
    </span>
  );
}

/** A test that shows nothing of an ability leaves what was known before. */
function shownState(account: AccountSummary, ability: Ability, test: ConnectionTest | undefined) {
  const known = abilitiesOf(account);
  const tested = test?.abilities.find((each) => each.ability === ability);
  const isShown = tested !== undefined && tested.state !== 'unknown';
  const state = isShown ? tested.state : stateOf(known, ability);
  const stored = known.credentials ?? known[ability];
  const since = stored?.state === state ? new Date(stored.since) : null;
  const permission = isShown ? (tested.permission ?? undefined) : stored?.permission;
  return { state, since, permission, words: tested?.failure?.message ?? stored?.message };
}

function TestResult({ test, displayName }: { test: ConnectionTest; displayName: string }) {
  switch (test.verdict) {
    case 'works':
      return <Notice tone="good">Connection successful. {displayName} accepts the credentials.</Notice>;
    case 'limited':
      return (
        <Notice tone="warn">
          <strong>{displayName} refuses some of what the service needs.</strong> Add the missing permissions
          in {displayName}, then test again.
        </Notice>
      );
    case 'unusable':
      return (
        <Notice tone="bad">
          <strong>{displayName} rejected the credentials.</strong> Replace them or check their permissions.
        </Notice>
      );
    case 'unavailable':
      return (
        <Notice tone="warn">
          <strong>{displayName} did not say whether it permits refunds.</strong> Test again in a minute.
        </Notice>
      );
  }
}
