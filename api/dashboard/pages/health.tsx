import type { FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import {
  type AccountQueue,
  completedMinutes,
  mostQueued,
  readQueues,
} from '#shared/health/account-queues.ts';
import type { ServiceHealth } from '#shared/health/read-health.ts';
import { type AccountInTrouble, findAccountsInTrouble, isUnanswered } from '#shared/health/trouble.ts';
import { refusalInShort, refusalsOf } from '#shared/processors/accounts/ability-wording.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { limitedOperations } from '#shared/processors/accounts/rate-limits.ts';
import { accountLabel } from '#shared/processors/registry.ts';
import { Badge } from '../components/badge.tsx';
import { ButtonLink, Link } from '../components/button.tsx';
import { Card, Facts } from '../components/card.tsx';
import { type Column, List } from '../components/list.tsx';
import { Live } from '../components/live.tsx';
import { Empty } from '../components/notice.tsx';
import { Moment } from '../components/values.tsx';
import { contextOf, useMember } from '../http/access.ts';
import { page } from '../http/page.ts';
import { accountsPath, queueBoardPath, receivedEventsPath } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { mayUseBoard } from '../queues/board-access.ts';
import { inLargestUnit, inTime, inWhole } from '../words/numbers.ts';
import { accountTrouble, workersTrouble } from '../words/trouble.ts';

const refreshSeconds = 10;

/** The health page: whether workers work off the queue, whether the processors of an organization answer, and what waits for them. */
export function healthPage(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { owner, user } = contextOf(request);
    const [health, troubles, accounts, queues, maySeeBoard] = await Promise.all([
      deps.health(),
      findAccountsInTrouble(deps.db, owner),
      listProcessorAccounts(deps.db, owner.organizationId, owner.environment),
      readQueues(deps.db, owner),
      mayUseBoard(deps.db, user.id, request.session.companyOf),
    ]);
    return { health, troubles, accounts, queues, maySeeBoard };
  };
  page(scope, '/health', 'operator', read, Health);
}

interface HealthProps {
  /** Of the whole service. */
  health: ServiceHealth;
  /** Of the organization in this environment. */
  troubles: readonly AccountInTrouble[];
  accounts: readonly AccountName[];
  queues: readonly AccountQueue[];
  /** Whether the member is an operator of every organization. */
  maySeeBoard: boolean;
}

function Health(props: HealthProps) {
  return (
    <Frame
      title="Health"
      section="health"
      actions={
        <>
          <ButtonLink to={receivedEventsPath}>Processor events</ButtonLink>
          {props.maySeeBoard && <ButtonLink to={queueBoardPath}>Queue board</ButtonLink>}
        </>
      }
    >
      <Live id="health" from="/health" everySeconds={refreshSeconds}>
        <div class="stack">
          <WorkersCard {...props} />
          <AccountsCard {...props} />
        </div>
      </Live>
    </Frame>
  );
}

function WorkersCard({ health: { workers, now, undeliveredSince } }: HealthProps) {
  const trouble = workersTrouble(workers, now);
  const state = trouble === null ? <Badge tone="good">Working</Badge> : <Badge tone="bad">{trouble}</Badge>;
  const undelivered =
    undeliveredSince === null ? null : inLargestUnit(now.getTime() - undeliveredSince.getTime());
  return (
    <Card id="workers" title="Workers">
      <Facts
        facts={[
          ['State', state],
          ['Running', inWhole(workers.alive)],
          ['Last seen', workers.seenAt === null ? null : <Moment at={workers.seenAt} />],
          ['Oldest undelivered event', undelivered],
        ]}
      />
      {trouble === null ? null : <p>New refunds are accepted, but not sent until a worker runs.</p>}
    </Card>
  );
}

/** An account, or what is connected to it. */
interface Item {
  account: AccountName;
  queue: AccountQueue;
  /** Those that leave refunds without an answer. */
  troubles: readonly AccountInTrouble[];
}

/** What is connected to an account follows it. */
function itemsOf({ accounts, troubles, queues }: HealthProps): Item[] {
  const own = new Set(accounts.map(({ id }) => id));
  return accounts.flatMap((account) =>
    queues
      .filter(({ accountId }) => accountId === account.id)
      .toSorted((a, b) => Number(a.isConnected) - Number(b.isConnected))
      .map((queue) => ({
        ...{ account, queue },
        troubles: troubles.filter(({ accountId, name }) =>
          queue.isConnected
            ? !own.has(accountId) && name.startsWith(`${account.name}/`)
            : accountId === account.id,
        ),
      })),
  );
}

function AccountsCard(props: HealthProps) {
  const { environment } = useMember();
  const { now } = props.health;
  const items = itemsOf(props);
  const number = (title: string, value: (item: Item) => ComponentChildren): Column<Item> => [
    title,
    value,
    'number',
  ];
  // The list of refunds has no filter for all that are connected to an account.
  const linked = (refunds: number, { account, queue }: Item, filter: string) =>
    queue.isConnected ? (
      counted(refunds)
    ) : (
      <Link to={`/refunds?account=${account.id}&${filter}&sort=oldest`}>{counted(refunds)}</Link>
    );
  const oldest = ({ queue: { dueSince } }: Item) =>
    dueSince === null ? 'None' : inTime(now.getTime() - dueSince.getTime());
  return (
    <Card id="processors" title="Processor accounts">
      {items.length === 0 ? (
        <Empty title={`No ${environment} processor accounts`} icon="credit-card">
          <p>
            Add one in <Link to={accountsPath}>Settings</Link>.
          </p>
        </Empty>
      ) : (
        <List
          caption="Processor accounts with their queues"
          isInCard
          items={items}
          columns={[
            ['Account', ({ account, queue }) => <AccountLink account={account} queue={queue} />],
            ['State', (item) => <AccountState {...item} now={now} />],
            number('Waiting', (item) => linked(item.queue.waiting, item, 'status=processing')),
            number('Oldest due', oldest),
            number('Retrying', ({ queue }) => counted(queue.retrying)),
            number('Outcome unknown', (item) => linked(item.queue.unknown, item, 'outcomeUnknown=true')),
            number('Completed per minute', ({ queue }) => inRate(queue.completedPerMinute)),
          ]}
        />
      )}
      <p class="small muted">
        {`Refunds of the ${environment} environment. Completed: on average over the last ${completedMinutes} minutes.`}
      </p>
    </Card>
  );
}

function AccountLink({ account, queue }: Pick<Item, 'account' | 'queue'>) {
  const label = accountLabel(account);
  return (
    <Link to={`${accountsPath}/${account.id}`}>{queue.isConnected ? `Connected to ${label}` : label}</Link>
  );
}

function counted(refunds: number): string {
  return `${inWhole(refunds)}${refunds < mostQueued ? '' : '+'}`;
}

/** With a decimal while it is small. */
function inRate(perMinute: number): string {
  return perMinute === 0 || perMinute >= 10 ? inWhole(Math.round(perMinute)) : perMinute.toFixed(1);
}

function AccountState({ account, queue, troubles, now }: Item & { now: Date }) {
  const unanswered = troubles.filter((each) => isUnanswered(each, now));
  if (queue.isConnected) return <ConnectedState unanswered={unanswered.length} />;
  if (account.misconfiguredAt !== null) {
    return <Badge tone="bad">{refusalInShort(refusalsOf(account))}</Badge>;
  }
  if (limitedOperations(account, now).length > 0) return <Badge tone="warn">Rate limited</Badge>;
  const [trouble] = unanswered;
  if (trouble === undefined) return <Badge tone="good">Operational</Badge>;
  return (
    <>
      <Badge tone="bad">Not answering</Badge> <p class="small muted">{accountTrouble(trouble, now)}</p>
    </>
  );
}

/** Of all that are connected to an account; each has a state of its own. */
function ConnectedState({ unanswered }: { unanswered: number }) {
  if (unanswered === 0) return null;
  return <Badge tone="bad">{`${inWhole(unanswered)} not answering`}</Badge>;
}
