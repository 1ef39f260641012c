import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import type { ReconciliationFinding } from '#shared/platform/database.ts';
import { findOwnAccount } from '#shared/processors/accounts/account.ts';
import { type AccountSummary, listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { accountLabel } from '#shared/processors/registry.ts';
import { needsAttention } from '#shared/reconciliation/findings.ts';
import { findRun, type ListedRun, listRuns, mostFindings } from '#shared/reconciliation/list-runs.ts';
import { isRequested, nextWindow, requestRun } from '#shared/reconciliation/runs.ts';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import type { Facts as FindingFacts, FindingKind } from '#shared/refunds/model/flags.ts';
import { Badge } from '../components/badge.tsx';
import { ButtonLink, Link } from '../components/button.tsx';
import { Card, Facts } from '../components/card.tsx';
import { Post } from '../components/form.tsx';
import { List } from '../components/list.tsx';
import { Live } from '../components/live.tsx';
import { Empty } from '../components/notice.tsx';
import { Moment } from '../components/values.tsx';
import { contextOf, useMember } from '../http/access.ts';
import { entered } from '../http/forms.ts';
import { page } from '../http/page.ts';
import { idInPath } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { inWhole } from '../words/numbers.ts';

const path = '/reconciliation';
const refreshSeconds = 4;

/** `/reconciliation`: the runs of the environment, what each found, and buttons that start one. */
export function reconciliationPages(scope: Api, deps: ApiDependencies): void {
  const { db } = deps;
  const readRuns = async (request: FastifyRequest) => {
    const { owner } = contextOf(request);
    const { organizationId, environment } = owner;
    const [runs, accounts] = await Promise.all([
      listRuns(db, owner),
      listProcessorAccounts(db, organizationId, environment),
    ]);
    const actors = runs.map(({ actor }) => actor);
    return { runs, accounts, names: await nameActors(db, organizationId, actors) };
  };
  page(scope, path, 'operator', readRuns, RunsPage).button(path, 'operator', async (request) => {
    const { owner, actor } = contextOf(request);
    const account = await findOwnAccount(db, owner, entered(request.body, 'account'));
    // A worker carries it out, because it may take minutes. One that is under way already answers as well.
    await requestRun(deps, account, await nextWindow(deps, account), actor);
    return 'reconciliation-started';
  });

  const readRun = async (request: FastifyRequest) => {
    const { owner } = contextOf(request);
    const { run, findings } = await findRun(db, owner, idInPath(request, 'runId', 'rec'));
    return { run, findings, names: await nameActors(db, owner.organizationId, [run.actor]) };
  };
  page(scope, `${path}/:runId`, 'operator', readRun, RunPage);
}

interface RunsProps {
  runs: readonly ListedRun[];
  accounts: readonly AccountSummary[];
  /** The display names of those who started a run. */
  names: ReadonlyMap<string, string>;
}

function RunsPage({ runs, accounts, names }: RunsProps) {
  const { environment } = useMember();
  return (
    <Frame
      title="Reconciliation"
      section="reconciliation"
      actions={accounts.map((account) => (
        <Post key={account.id} to={path} values={{ account: account.id }}>
          Reconcile {accountLabel(account)}
        </Post>
      ))}
    >
      <Live id="runs" from={path} everySeconds={runs.some(isUnderWay) ? refreshSeconds : null}>
        <div class="stack">
          <p class="muted">
            Compares the processors' {environment} refunds with yours, every day and when you start it.
            Nothing is sent or cancelled.
          </p>
          {runs.length === 0 ? (
            <Empty title="No runs yet" icon="arrow-switch">
              <p>The first one starts within a day of setting up a processor account.</p>
              {accounts.length > 0 ? null : (
                <ButtonLink to="/settings/accounts">Set up an account</ButtonLink>
              )}
            </Empty>
          ) : (
            <List
              caption="Latest runs, newest first"
              items={runs}
              columns={[
                [
                  'Started',
                  ({ id, startedAt }) => (
                    <Link class="row-link" to={`${path}/${id}`}>
                      <Moment at={startedAt} />
                    </Link>
                  ),
                ],
                ['Account', ({ account }) => accountLabel(account)],
                ['Result', (run) => <Result run={run} />],
                ['Compared', ({ comparedCount }) => inWhole(comparedCount), 'number'],
                ['Started by', ({ actor }) => names.get(actor)],
              ]}
            />
          )}
        </div>
      </Live>
    </Frame>
  );
}

function isUnderWay({ finishedAt }: ListedRun): boolean {
  return finishedAt === null;
}

/** How a run ended, with the number of its findings. */
function Result({ run }: { run: ListedRun }) {
  const { finishedAt, failure, _count: counted } = run;
  const { findings } = counted;
  if (isRequested(run)) return <Badge tone="wait">Waiting for a worker</Badge>;
  if (finishedAt === null) return <Badge tone="wait">In progress</Badge>;
  if (failure !== null) return <Badge tone="bad">Not finished</Badge>;
  if (findings === 0) return <Badge tone="good">No discrepancies</Badge>;
  return <Badge tone="warn">{`${inWhole(findings)} ${findings === 1 ? 'finding' : 'findings'}`}</Badge>;
}

interface RunProps extends Pick<RunsProps, 'names'> {
  run: ListedRun;
  findings: readonly ReconciliationFinding[];
}

function RunPage({ run, findings, names }: RunProps) {
  const { account, actor, comparedCount, failure, finishedAt, startedAt, windowEnd, windowStart } = run;
  const { processor } = account;
  return (
    <Frame title={`${accountLabel(account)} run`} section="reconciliation" beside={<Result run={run} />}>
      <Card id="run" title="Run">
        <Facts
          facts={[
            [
              'Problem',
              failure && (
                <>{failure} What it found is true; what it did not find proves nothing. Start it again.</>
              ),
            ],
            ['Started', <Moment key="started" at={startedAt} />],
            ['Finished', finishedAt && <Moment at={finishedAt} />],
            ['Started by', names.get(actor)],
            [
              'Refunds made',
              <>
                <Moment at={windowStart} /> to <Moment at={windowEnd} />
              </>,
            ],
            ['Compared', `${inWhole(comparedCount)} refunds`],
          ]}
        />
      </Card>
      <Card id="findings" title="Findings">
        {findings.length === 0 ? <p class="muted">None.</p> : <Findings {...{ processor, findings }} />}
        {findings.length < mostFindings ? null : <p class="muted">The first {mostFindings} are shown.</p>}
      </Card>
    </Frame>
  );
}

function Findings({ processor, findings }: Pick<RunProps, 'findings'> & { processor: string }) {
  const items = findings.map((finding) => ({
    ...finding,
    isOpen: needsAttention(finding),
    words: wordsFor(finding.kind as FindingKind, finding.facts as FindingFacts, processor),
  }));
  return (
    <List
      caption="Findings"
      isInCard
      items={items}
      columns={[
        [
          'Finding',
          ({ words: { title, summary } }) => (
            <>
              {title} <span class="detail small muted said">{summary}</span>
            </>
          ),
        ],
        [
          'State',
          ({ isOpen }) =>
            isOpen ? <Badge tone="warn">Needs attention</Badge> : <Badge tone="quiet">Settled</Badge>,
        ],
        [
          'What to do',
          ({ isOpen, words }) => (isOpen ? <span class="small said">{words.advice}</span> : null),
        ],
        ['Refund', ({ refundId }) => refundId && <Link to={`/refunds/${refundId}`}>{refundId}</Link>],
        [
          'Payment',
          ({ transactionId }) =>
            transactionId && (
              <Link to={`/payments/${encodeURIComponent(transactionId)}`}>{transactionId}</Link>
            ),
        ],
      ]}
    />
  );
}
