import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import type { ServiceHealth } from '#shared/health/read-health.ts';
import { type AccountInTrouble, findAccountsInTrouble, isUnanswered } from '#shared/health/trouble.ts';
import { type AccountSummary, listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { type Context, contextOf } from '../http/access.ts';
import { sendPage } from '../http/render.ts';
import { Badge } from '../layout/badge.tsx';
import { Card, Facts } from '../layout/card.tsx';
import { Frame } from '../layout/frame.tsx';
import { Live } from '../layout/live.tsx';
import { Empty } from '../layout/notice.tsx';
import { inLargestUnit, inTime, inWhole } from '../layout/numbers.ts';
import { Table } from '../layout/table.tsx';
import { accountTrouble, waitingOf, workersTrouble } from '../layout/trouble.ts';
import { Moment } from '../layout/values.tsx';
import { processorWord } from '../layout/words.ts';

const refreshSeconds = 10;

/** The health page: whether workers work off the queue, and whether the processors of an organization answer. */
export function healthPage(scope: Api, deps: ApiDependencies): void {
  scope.get('/health', { config: { role: 'operator' } }, async (request, reply) => {
    const context = contextOf(request);
    const { organizationId, environment } = context.owner;
    const [health, troubles, accounts] = await Promise.all([
      deps.health(),
      findAccountsInTrouble(deps.db, context.owner),
      listProcessorAccounts(deps.db, organizationId, environment),
    ]);
    return sendPage(reply, <HealthPage {...{ context, health, troubles, accounts }} />);
  });
}

interface HealthProps {
  context: Context;
  /** Of the whole service. */
  health: ServiceHealth;
  /** Of the organization in this environment. */
  troubles: readonly AccountInTrouble[];
  accounts: readonly AccountSummary[];
}

function HealthPage(props: HealthProps) {
  const { context } = props;
  return (
    <Frame context={context} title="Health" section="health">
      <Live id="health" from={`${context.base}/health`} everySeconds={refreshSeconds}>
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
      {trouble === null ? null : <p>Refunds are accepted, and wait until a worker runs.</p>}
    </Card>
  );
}

const columns = [
  { title: 'Processor' },
  { title: 'State' },
  { title: 'Retried refunds' },
  { title: 'Longest due' },
] as const;

function ProcessorsCard({ context, health, troubles, accounts }: HealthProps) {
  const rows = accounts.map((account) => {
    const { id, processor, environment } = account;
    const trouble = troubles.find((each) => each.processor === processor);
    const work = health.work.find((each) => each.processor === processor && each.environment === environment);
    const dueSince = work?.dueSince ?? null;
    return {
      key: id,
      cells: [
        processorWord(processor),
        <AccountState key="state" account={account} trouble={trouble} now={health.now} />,
        trouble === undefined ? 'None' : waitingOf(trouble, health.now),
        dueSince === null ? 'None' : inTime(health.now.getTime() - dueSince.getTime()),
      ],
    };
  });
  return (
    <Card id="processors" title="Processors">
      {rows.length === 0 ? (
        <Empty title={`No ${context.environment} processor accounts`}>
          <p>
            Set one up in <a href={`${context.base}/settings/accounts`}>Settings</a>.
          </p>
        </Empty>
      ) : (
        <>
          <Table caption="Processor accounts" columns={columns} rows={rows} />
          <p class="small muted">
            Longest due: for how long a refund of any organization waits for a worker.
          </p>
        </>
      )}
    </Card>
  );
}

interface AccountStateProps {
  account: AccountSummary;
  trouble: AccountInTrouble | undefined;
  now: Date;
}

function AccountState({ account, trouble, now }: AccountStateProps) {
  if (account.misconfiguredAt !== null) return <Badge tone="bad">Credentials rejected</Badge>;
  if (account.throttledUntil !== null && account.throttledUntil > now) {
    return <Badge tone="warn">Rate limited</Badge>;
  }
  if (trouble === undefined || !isUnanswered(trouble, now)) return <Badge tone="good">No trouble</Badge>;
  return (
    <>
      <Badge tone="bad">Not answering</Badge> <p class="small muted">{accountTrouble(trouble, now)}</p>
    </>
  );
}
