import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/people/roles.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { loadAccount } from '#shared/processors/accounts/connections.ts';
import { type AccountSummary, listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { type ConnectionTest, testConnection } from '#shared/processors/accounts/test-connection.ts';
import { processorKind, processorNames } from '#shared/processors/registry.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { Facts } from '../../components/card.tsx';
import { answeredIn, CsrfField } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { CopyButton, Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { originOf } from '../../http/paths.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { credentialPages, processorInPath } from './credentials.tsx';
import { sentMetadataPages } from './sent-metadata.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/accounts';

/** `/settings/accounts`: the processor accounts of the environment, the first page of the settings. */
export function accountPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/settings', { config: { role: 'viewer' } }, async (request, reply) =>
    reply.redirect(`${contextOf(request).base}${path}`, 303),
  );

  scope.get(path, { config: { role: 'viewer' } }, async (request, reply) => {
    const view = await readAccounts(deps, request);
    return sendPage(reply, <Accounts {...view} tested={null} />);
  });

  scope.post(`${path}/:processor/test`, { config: { role: 'admin' } }, async (request, reply) => {
    const processor = processorInPath(request);
    const test = await testAccount(deps, contextOf(request), processor);
    const view = await readAccounts(deps, request);
    const tested = { processor, test };
    return request.headers['hx-request'] === 'true'
      ? sendPart(reply, <AccountCard {...view} processor={processor} test={test} />)
      : sendPage(reply, <Accounts {...view} tested={tested} />);
  });

  credentialPages(scope, deps);
  sentMetadataPages(scope, deps);
}

/** @throws ServiceError not_found for an account that is not set up. */
async function testAccount(
  deps: ApiDependencies,
  context: Context,
  processor: string,
): Promise<ConnectionTest> {
  const key = { ...context.owner, processor };
  if ((await deps.db.processorAccount.count({ where: key })) === 0) {
    throw new ServiceError('not_found', 'This account is not set up.');
  }
  const account = await loadAccount(deps.db, key);
  return await testConnection(deps, { account, actor: context.actor });
}

interface AccountsView {
  context: Context;
  accounts: readonly AccountSummary[];
  /** The scheme and host of this service. */
  origin: string;
  now: Date;
}

async function readAccounts({ db, clock }: ApiDependencies, request: FastifyRequest): Promise<AccountsView> {
  const context = contextOf(request);
  const { organizationId, environment } = context.owner;
  const accounts = await listProcessorAccounts(db, organizationId, environment);
  return { context, accounts, origin: originOf(request), now: clock.now() };
}

interface AccountsProps extends AccountsView {
  /** The account whose connection was just tested. */
  tested: { processor: string; test: ConnectionTest } | null;
}

function Accounts({ tested, ...view }: AccountsProps) {
  const { context } = view;
  return (
    <SettingsFrame context={context} page="accounts">
      <p class="muted">
        Processor accounts of the {context.environment} environment. Test and live have separate accounts.
      </p>
      <div class="columns">
        {processorNames.map((processor) => (
          <AccountCard
            key={processor}
            {...view}
            processor={processor}
            test={tested?.processor === processor ? tested.test : null}
          />
        ))}
      </div>
    </SettingsFrame>
  );
}

interface AccountCardProps extends AccountsView {
  processor: string;
  test: ConnectionTest | null;
}

interface AccountProps extends AccountCardProps {
  /** Null for an account that is not set up. */
  account: AccountSummary | null;
}

function AccountCard(card: AccountCardProps) {
  const { context, accounts, processor, test } = card;
  const { displayName } = processorKind(processor);
  const account = accounts.find((each) => each.processor === processor) ?? null;
  const props = { ...card, account };
  const isAdmin = mayAct(context.role, 'admin');
  return (
    <section class="card stack" id={`account-${processor}`} aria-labelledby={`${processor}-title`}>
      <div class="spread">
        <h2 id={`${processor}-title`}>{displayName}</h2>
        <AccountBadge {...props} />
      </div>
      {test === null ? null : <TestResult test={test} displayName={displayName} />}
      {account === null ? (
        <p class="muted">
          {displayName} payments can't be refunded until this account is set up.
          {isAdmin ? null : ' Ask an admin to set it up.'}
        </p>
      ) : (
        <AccountDetails {...props} account={account} />
      )}
      {isAdmin ? <AccountActions {...props} /> : null}
    </section>
  );
}

/** Shows Connected only after a test. */
function AccountBadge({ account, now, test }: AccountProps) {
  if (account === null) return <Badge tone="quiet">Not set up</Badge>;
  const { misconfiguredAt, throttledUntil } = account;
  if (misconfiguredAt !== null) return <Badge tone="bad">Credentials rejected</Badge>;
  if (throttledUntil !== null && throttledUntil > now) return <Badge tone="warn">Rate limited</Badge>;
  if (test?.kind === 'works') return <Badge tone="good">Connected</Badge>;
  return <Badge tone="quiet">Set up</Badge>;
}

function AccountDetails({ account, processor, origin, now }: AccountProps & { account: AccountSummary }) {
  const { misconfiguredAt, throttledUntil, updatedAt, id, sentMetadataKeys } = account;
  const { displayName, webhooks, capabilities } = processorKind(processor);
  const webhookUrl = `${origin}/webhooks/${processor}/${id}`;
  const isThrottled = throttledUntil !== null && throttledUntil > now;
  return (
    <Facts
      facts={[
        [
          'Rejected since',
          misconfiguredAt === null ? null : (
            <>
              <Moment at={misconfiguredAt} />. Refunds wait until you replace the credentials or they work
              again.
            </>
          ),
        ],
        [
          'Rate limited until',
          isThrottled ? (
            <>
              <Moment at={throttledUntil} />. Refunds resume automatically.
            </>
          ) : null,
        ],
        ['Credentials updated', <Moment key="updated" at={updatedAt} />],
        ['Metadata sent', capabilities.keepsMetadata ? sentMetadataKeys.join(', ') || 'None' : null],
        [
          'Webhook URL',
          <>
            <code>{webhookUrl}</code>
            <CopyButton text={webhookUrl} label="webhook URL" />
            <p class="small muted">
              Add this URL in {displayName}. {webhooks.setUp}
            </p>
          </>,
        ],
      ]}
    />
  );
}

function AccountActions({ context, processor, account }: AccountProps) {
  const base = `${context.base}${path}/${processor}`;
  const { displayName, capabilities } = processorKind(processor);
  return (
    <div class="row">
      {account === null ? null : (
        <form {...answeredIn(`account-${processor}`, `${base}/test`)}>
          <CsrfField token={context.csrfToken} />
          <Submit>
            Test connection<span class="visually-hidden"> to {displayName}</span>
          </Submit>
        </form>
      )}
      <ButtonLink kind={account === null ? 'primary' : undefined} to={base}>
        {account === null ? 'Set up' : 'Replace credentials'}
        <span class="visually-hidden"> {account === null ? displayName : `of ${displayName}`}</span>
      </ButtonLink>
      {account !== null && capabilities.keepsMetadata ? (
        <ButtonLink to={`${base}/metadata`}>
          Choose metadata<span class="visually-hidden"> for {displayName}</span>
        </ButtonLink>
      ) : null}
    </div>
  );
}

function TestResult({ test, displayName }: { test: ConnectionTest; displayName: string }) {
  switch (test.kind) {
    case 'works':
      return <Notice tone="good">Connection successful. {displayName} accepts the credentials.</Notice>;
    case 'refused':
      return (
        <Notice tone="bad">
          <strong>{displayName} rejected the credentials.</strong> Replace them or check their permissions:{' '}
          {test.message}
        </Notice>
      );
    case 'unavailable':
      return (
        <Notice tone="warn">
          <strong>{displayName} could not be reached.</strong> Test again in a minute: {test.message}
        </Notice>
      );
    case 'throttled':
      return (
        <Notice tone="warn">
          <strong>{displayName} is limiting requests.</strong> Test again after <Moment at={test.until} />.
        </Notice>
      );
  }
}
