import type { FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import {
  completedMinutes,
  mostQueued,
  type ProcessorQueue,
  readQueues,
} from '#shared/health/processor-queues.ts';
import type { ServiceHealth } from '#shared/health/read-health.ts';
import { type AccountInTrouble, findAccountsInTrouble, isUnanswered } from '#shared/health/trouble.ts';
import { refusalInShort, refusalsOf } from '#shared/processors/accounts/ability-wording.ts';
import { type AccountSummary, listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { limitedOperations } from '#shared/processors/accounts/rate-limits.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { Badge } from '../components/badge.tsx';
import { ButtonLink, Link } from '../components/button.tsx';
import { Card, Facts } from '../components/card.tsx';
import { type Column, List } from '../components/list.tsx';
import { Live } from '../components/live.tsx';
import { Empty } from '../components/notice.tsx';
import { Moment } from '../components/values.tsx';
import { contextOf, useMember } from '../http/access.ts';
import { page } from '../http/page.ts';
import { queueBoardPath, receivedEventsPath } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { inLargestUnit, inTime, inWhole } from '../words/numbers.ts';
import { accountTrouble, workersTrouble } from '../words/trouble.ts';

const refreshSeconds = 10;

/** The health page: whether workers work off the queue, whether the processors of an organization answer, and what waits for them. */
export function healthPage(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { owner } = contextOf(request);
    const [health, troubles, accounts, queues] = await Promise.all([
      deps.health(),
      findAccountsInTrouble(deps.db, owner),
      listProcessorAccounts(deps.db, owner.organizationId, owner.environment),
      readQueues(deps.db, owner),
    ]);
    return { health, troubles, accounts, queues };
  };
  page(scope, '/health', 'operator', read, Health);
}

interface HealthProps {
  /** Of the whole service. */
  health: ServiceHealth;
  /** Of the organization in this environment. */
  troubles: readonly AccountInTrouble[];
  accounts: readonly AccountSummary[];
  queues: readonly ProcessorQueue[];
}

function Health(props: HealthProps) {
  return (
    <Frame
      title="Health"
      section="health"
      actions={
        <>
          <ButtonLink to={receivedEventsPath}>Processor events</ButtonLink>
          {/* The board itself admits only operators of every organization. */}
          <ButtonLink to={queueBoardPath}>Queue board</ButtonLink>
        </>
      }
    >
      <Live id="health" from="/health" everySeconds={refreshSeconds}>
        <div class="stack">
          <WorkersCard {...props} />
          <ProcessorsCard {...props} />
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

function ProcessorsCard({ health: { now }, troubles, accounts, queues }: HealthProps) {
  const { environment } = useMember();
  const items = accounts.flatMap((account) => {
    const isOfAccount = ({ processor }: { processor: string }) => processor === account.processor;
    const queue = queues.find(isOfAccount);
    return queue === undefined ? [] : [{ account, queue, trouble: troubles.find(isOfAccount) }];
  });
  type Item = (typeof items)[number];
  const number = (title: string, value: (queue: ProcessorQueue) => ComponentChildren): Column<Item> => [
    title,
    ({ queue }) => value(queue),
    'number',
  ];
  const linked = (refunds: number, { processor }: ProcessorQueue, filter: string) => (
    <Link to={`/refunds?processor=${processor}&${filter}&sort=oldest`}>{counted(refunds)}</Link>
  );
  const oldest = ({ dueSince }: ProcessorQueue) =>
    dueSince === null ? 'None' : inTime(now.getTime() - dueSince.getTime());
  return (
    <Card id="processors" title="Processors">
      {items.length === 0 ? (
        <Empty title={`No ${environment} processor accounts`} icon="credit-card">
          <p>
            Set one up in <Link to="/settings/accounts">Settings</Link>.
          </p>
        </Empty>
      ) : (
        <List
          caption="Processor accounts with their queues"
          isInCard
          items={items}
          columns={[
            ['Processor', ({ account }) => displayNameOf(account.processor)],
            ['State', (item) => <AccountState {...item} now={now} />],
            number('Waiting', (queue) => linked(queue.waiting, queue, 'status=processing')),
            number('Oldest due', oldest),
            number('Retrying', ({ retrying }) => counted(retrying)),
            number('Outcome unknown', (queue) => linked(queue.unknown, queue, 'outcomeUnknown=true')),
            number('Completed per minute', (queue) => inRate(queue.completedPerMinute)),
          ]}
        />
      )}
      <p class="small muted">
        {`Refunds of the ${environment} environment. Completed: on average over the last ${completedMinutes} minutes.`}
      </p>
    </Card>
  );
}

function counted(refunds: number): string {
  return `${inWhole(refunds)}${refunds < mostQueued ? '' : '+'}`;
}

/** With a decimal while it is small. */
function inRate(perMinute: number): string {
  return perMinute === 0 || perMinute >= 10 ? inWhole(Math.round(perMinute)) : perMinute.toFixed(1);
}

interface AccountStateProps {
  account: AccountSummary;
  trouble: AccountInTrouble | undefined;
  now: Date;
}

function AccountState({ account, trouble, now }: AccountStateProps) {
  if (account.misconfiguredAt !== null) {
    return <Badge tone="bad">{refusalInShort(refusalsOf(account))}</Badge>;
  }
  if (limitedOperations(account, now).length > 0) return <Badge tone="warn">Rate limited</Badge>;
  if (trouble === undefined || !isUnanswered(trouble, now)) return <Badge tone="good">Operational</Badge>;
  return (
    <>
      <Badge tone="bad">Not answering</Badge> <p class="small muted">{accountTrouble(trouble, now)}</p>
    </>
  );
}
