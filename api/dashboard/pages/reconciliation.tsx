import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/people/actors.ts';
import type { ReconciliationFinding } from '#shared/platform/database.ts';
import { type AccountSummary, listProcessorAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { needsAttention } from '#shared/reconciliation/findings.ts';
import { findRun, type ListedRun, listRuns, mostFindings } from '#shared/reconciliation/list-runs.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { nextWindow } from '#shared/reconciliation/runs.ts';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import type { Facts as FindingFacts, FindingKind } from '#shared/refunds/model/flags.ts';
import { Badge } from '../components/badge.tsx';
import { Submit } from '../components/button.tsx';
import { Card, Facts } from '../components/card.tsx';
import { CsrfField } from '../components/form.tsx';
import { List } from '../components/list.tsx';
import { Empty } from '../components/notice.tsx';
import { Moment } from '../components/values.tsx';
import { type Context, contextOf } from '../http/access.ts';
import { idInPath, pageNotFound } from '../http/paths.ts';
import { sendPage } from '../http/render.ts';
import { doneAt } from '../layout/done.tsx';
import { Frame } from '../layout/frame.tsx';
import { inWhole } from '../words/numbers.ts';
import { processorWord } from '../words/words.ts';

const path = '/reconciliation';
const operator = { config: { role: 'operator' as const } };

/** `/reconciliation`: the runs of the environment, what each found, and buttons that start one. */
export function reconciliationPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, operator, async (request, reply) => {
    const context = contextOf(request);
    const { organizationId, environment } = context.owner;
    const [runs, accounts] = await Promise.all([
      listRuns(deps.db, context.owner),
      listProcessorAccounts(deps.db, organizationId, environment),
    ]);
    const names = await nameActors(
      deps.db,
      organizationId,
      runs.map(({ actor }) => actor),
    );
    return sendPage(reply, <RunsPage {...{ context, runs, accounts, names }} />);
  });

  scope.post(path, operator, async (request, reply) => {
    const { owner, actor, base } = contextOf(request);
    const processor = (request.body as Record<string, unknown> | undefined)?.processor;
    const accounts = await listProcessorAccounts(deps.db, owner.organizationId, owner.environment);
    const account = accounts.find((each) => each.processor === processor);
    if (account === undefined) throw pageNotFound();
    const window = await nextWindow(deps, account);
    // Not awaited, because a run may take minutes. One that dies with this process is closed as failed once its lease has ended.
    reconcileAccount(deps, { account, window, actor, signal: deps.closing }).catch((error) =>
      deps.log.warn({ accountId: account.id, err: error }, 'a reconciliation from the dashboard was lost'),
    );
    return reply.redirect(doneAt(`${base}${path}`, 'reconciliation-started'), 303);
  });

  scope.get(`${path}/:runId`, operator, async (request, reply) => {
    const context = contextOf(request);
    const { run, findings } = await findRun(deps.db, context.owner, idInPath(request, 'runId', 'rec'));
    const names = await nameActors(deps.db, context.organization.id, [run.actor]);
    return sendPage(reply, <RunPage {...{ context, run, findings, names }} />);
  });
}

interface Props {
  context: Context;
  /** The display names of those who started a run. */
  names: ReadonlyMap<string, string>;
}

interface RunsProps extends Props {
  runs: readonly ListedRun[];
  accounts: readonly AccountSummary[];
}

function RunsPage({ context, runs, accounts, names }: RunsProps) {
  return (
    <Frame
      context={context}
      title="Reconciliation"
      section="reconciliation"
      actions={accounts.map(({ id, processor }) => (
        <form key={id} method="post" action={`${context.base}${path}`}>
          <CsrfField token={context.csrfToken} />
          <input type="hidden" name="processor" value={processor} />
          <Submit>Reconcile {processorWord(processor)}</Submit>
        </form>
      ))}
    >
      <p class="muted">
        Compares the processors' {context.environment} refunds with yours, every day and when you start it.
        Nothing is sent or cancelled.
      </p>
      {runs.length === 0 ? (
        <Empty title="No runs yet" icon="arrow-switch">
          <p>The first one starts within a day of setting up a processor account.</p>
        </Empty>
      ) : (
        <List
          caption="Latest runs, newest first"
          items={runs}
          columns={[
            [
              'Started',
              ({ id, startedAt }) => (
                <a class="row-link" href={`${context.base}${path}/${id}`}>
                  <Moment at={startedAt} />
                </a>
              ),
            ],
            ['Processor', ({ account }) => processorWord(account.processor)],
            ['Result', (run) => <Result run={run} />],
            ['Compared', ({ comparedCount }) => inWhole(comparedCount), 'number'],
            ['Started by', ({ actor }) => names.get(actor)],
          ]}
        />
      )}
    </Frame>
  );
}

/** How a run ended, with the number of its findings. */
function Result({ run: { finishedAt, failure, _count: counted } }: { run: ListedRun }) {
  const { findings } = counted;
  if (finishedAt === null) return <Badge tone="wait">In progress</Badge>;
  if (failure !== null) return <Badge tone="bad">Not finished</Badge>;
  if (findings === 0) return <Badge tone="good">No discrepancies</Badge>;
  return <Badge tone="warn">{`${inWhole(findings)} ${findings === 1 ? 'finding' : 'findings'}`}</Badge>;
}

interface RunProps extends Props {
  run: ListedRun;
  findings: readonly ReconciliationFinding[];
}

function RunPage({ context, run, findings, names }: RunProps) {
  const { account, actor, comparedCount, failure, finishedAt, startedAt, windowEnd, windowStart } = run;
  const processor = processorWord(account.processor);
  return (
    <Frame
      context={context}
      title={`${processor} run`}
      section="reconciliation"
      beside={<Result run={run} />}
    >
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
        {findings.length === 0 ? (
          <p class="muted">None.</p>
        ) : (
          <Findings {...{ context, processor, findings }} />
        )}
        {findings.length < mostFindings ? null : <p class="muted">The first {mostFindings} are shown.</p>}
      </Card>
    </Frame>
  );
}

interface FindingsProps extends Pick<RunProps, 'context' | 'findings'> {
  processor: string;
}

function Findings({ context: { base }, processor, findings }: FindingsProps) {
  const items = findings.map((finding) => ({
    ...finding,
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
          (finding) =>
            needsAttention(finding) ? (
              <Badge tone="warn">Needs attention</Badge>
            ) : (
              <Badge tone="quiet">Settled</Badge>
            ),
        ],
        [
          'What to do',
          (finding) =>
            needsAttention(finding) ? <span class="small said">{finding.words.advice}</span> : null,
        ],
        ['Refund', ({ refundId }) => refundId && <a href={`${base}/refunds/${refundId}`}>{refundId}</a>],
        [
          'Payment',
          ({ transactionId }) =>
            transactionId && (
              <a href={`${base}/payments/${encodeURIComponent(transactionId)}`}>{transactionId}</a>
            ),
        ],
      ]}
    />
  );
}
