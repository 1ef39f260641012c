import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import type { ServiceHealth } from '#shared/health/read-health.ts';
import { type AccountInTrouble, findAccountsInTrouble, isUnanswered } from '#shared/health/trouble.ts';
import { type AccountSummary, listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { Badge } from '../components/badge.tsx';
import { ButtonLink } from '../components/button.tsx';
import { Card, Facts } from '../components/card.tsx';
import { List } from '../components/list.tsx';
import { Live } from '../components/live.tsx';
import { Empty } from '../components/notice.tsx';
import { Moment } from '../components/values.tsx';
import { type Context, contextOf } from '../http/access.ts';
import { queueBoardPath } from '../http/paths.ts';
import { sendPage } from '../http/render.ts';
import { Frame } from '../layout/frame.tsx';
import { inLargestUnit, inTime, inWhole } from '../words/numbers.ts';
import { accountTrouble, waitingOf, workersTrouble } from '../words/trouble.ts';
import { processorWord } from '../words/words.ts';

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
    <Frame
      context={context}
      title="Health"
      section="health"
      // The board itself admits only operators of every organization.
      actions={<ButtonLink to={queueBoardPath}>Queue board</ButtonLink>}
    >
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

function ProcessorsCard({ context, health, troubles, accounts }: HealthProps) {
  const items = accounts.map((account) => ({
    account,
    trouble: troubles.find(({ processor }) => processor === account.processor),
    dueSince: health.work.find(
      ({ processor, environment }) => processor === account.processor && environment === account.environment,
    )?.dueSince,
  }));
  return (
    <Card id="processors" title="Processors">
      {items.length === 0 ? (
        <Empty title={`No ${context.environment} processor accounts`} icon="credit-card">
          <p>
            Set one up in <a href={`${context.base}/settings/accounts`}>Settings</a>.
          </p>
        </Empty>
      ) : (
        <>
          <p class="small muted">
            Longest due: for how long a refund of any organization waits for a worker.
          </p>
          <List
            caption="Processor accounts"
            isInCard
            items={items}
            columns={[
              ['Processor', ({ account }) => processorWord(account.processor)],
              ['State', (each) => <AccountState {...each} now={health.now} />],
              ['Retried refunds', ({ trouble }) => (trouble ? waitingOf(trouble, health.now) : 'None')],
              [
                'Longest due',
                ({ dueSince }) => (dueSince ? inTime(health.now.getTime() - dueSince.getTime()) : 'None'),
              ],
            ]}
          />
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
