import type { ComponentChildren } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/people/roles.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { nameRequesters } from '#shared/refunds/queries/find-refunds.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import { type CappedCount, countRefunds, searchRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { FirstCommand } from '../../components/first-command.tsx';
import { type Column, List, Pages } from '../../components/list.tsx';
import { Live } from '../../components/live.tsx';
import { Empty, Notice } from '../../components/notice.tsx';
import { Amount, Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { capitalized, entered, type FormProblems } from '../../http/forms.ts';
import { originOf } from '../../http/paths.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import { initiatorWords, processorWord } from '../../words/words.ts';
import { type EnteredFilter, enteredFilter, filterQuery, isRestricting, readFilter } from './filter.ts';
import { FilterForm } from './filter-form.tsx';

const pageLength = 25;
/** Refunds are counted up to this number. */
const countCap = 10_000;
const viewer = { config: { role: 'viewer' as const } };

/** `/refunds`: search and filter, newest first. */
export function refundListPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/refunds', viewer, async (request, reply) => {
    const context = contextOf(request);
    const filter = enteredFilter(request.query);
    const reading = readFilter(filter);
    if (reading.kind === 'invalid') {
      return sendPage(
        reply.code(400),
        <Page context={context} filter={filter} problems={reading.problems}>
          <Notice tone="bad">Fix the highlighted filters.</Notice>
        </Page>,
      );
    }
    const [results, count] = await Promise.all([
      readResults(deps, context, reading.value, entered(request.query, 'cursor')),
      countRefunds(deps.db, context.owner, reading.value, countCap),
    ]);
    return sendPage(
      reply,
      <Page context={context} filter={filter} problems={{}}>
        {count.count === 0 ? (
          <NoRefunds context={context} filter={filter} origin={originOf(request)} />
        ) : (
          <>
            <CountAndExport context={context} filter={filter} count={count} />
            <ResultsPart context={context} filter={filter} results={results} />
          </>
        )}
      </Page>,
    );
  });

  scope.get('/refunds/results', viewer, async (request, reply) => {
    const context = contextOf(request);
    const filter = enteredFilter(request.query);
    const reading = readFilter(filter);
    // The page requests it with the filter that it was rendered with.
    const valid = reading.kind === 'valid' ? reading.value : {};
    const results = await readResults(deps, context, valid, entered(request.query, 'cursor'));
    return sendPart(reply, <ResultsPart context={context} filter={filter} results={results} />);
  });
}

interface ListedRefund {
  refund: RefundWithWork;
  requester: string | null;
}

/** A page of the list; cursors are null where there is no such page. */
interface Results {
  refunds: readonly ListedRefund[];
  /** The cursor of this page; null for the first one. */
  cursor: string | null;
  next: string | null;
  previous: string | null;
}

async function readResults(
  { db }: ApiDependencies,
  { owner }: Context,
  filter: RefundFilter,
  enteredCursor: string,
): Promise<Results> {
  const cursor = enteredCursor === '' ? null : enteredCursor;
  const { refunds, next, previous } = await searchRefunds(db, owner, filter, { cursor, limit: pageLength });
  const names = await nameRequesters(db, owner.organizationId, refunds);
  const listed = refunds.map((refund) => ({ refund, requester: names.get(refund.id) ?? null }));
  return { refunds: listed, cursor, next, previous };
}

interface PageProps {
  context: Context;
  filter: EnteredFilter;
}

interface WholePageProps extends PageProps {
  problems: FormProblems;
  children: ComponentChildren;
}

function Page({ context, filter, problems, children }: WholePageProps) {
  const create = mayAct(context.role, 'operator') ? <CreateLink context={context} /> : undefined;
  return (
    <Frame context={context} {...sectionOf(filter)} actions={create}>
      <FilterForm to={`${context.base}/refunds`} filter={filter} problems={problems} />
      {children}
    </Frame>
  );
}

/** The entry of the navigation that leads to a list. */
function sectionOf({ status, needsAttention }: EnteredFilter) {
  if (needsAttention !== '') return { title: 'Attention', section: 'attention' } as const;
  if (status.join() === 'pending') return { title: 'Approvals', section: 'approvals' } as const;
  return { title: 'Refunds', section: 'refunds' } as const;
}

function CreateLink({ context }: { context: Context }) {
  return (
    <ButtonLink kind="primary" to={`${context.base}/refunds/new`}>
      Create refund
    </ButtonLink>
  );
}

/** The number of refunds, and a link to export them. */
function CountAndExport({ context, filter, count: { count, atLeast } }: PageProps & { count: CappedCount }) {
  const number = inWhole(count);
  const words = `${atLeast ? `more than ${number}` : number} ${count === 1 ? 'refund' : 'refunds'}`;
  return (
    <div class="spread">
      <p class="muted">{capitalized(words)}</p>
      <ButtonLink id="export" to={`${context.base}/refunds/export${filterQuery(filter)}`}>
        Export {words} as CSV
      </ButtonLink>
    </div>
  );
}

function NoRefunds({ context, filter, origin }: PageProps & { origin: string }) {
  if (isRestricting(filter)) {
    return (
      <Empty title="No matching refunds">
        <p>Search matches complete IDs in this environment.</p>
        <ButtonLink to={`${context.base}/refunds`}>Clear filters</ButtonLink>
      </Empty>
    );
  }
  const mayCreate = mayAct(context.role, 'operator');
  return (
    <Empty title={`No ${context.environment} refunds yet`}>
      <p>
        {mayCreate
          ? 'Create the first refund here or through the API:'
          : 'Refunds appear here once they are created in the dashboard or through the API:'}
      </p>
      {mayCreate ? <CreateLink context={context} /> : null}
      <FirstCommand environment={context.environment} origin={origin} />
    </Empty>
  );
}

/** The table with its pagination; it updates itself while any refund in it is open. */
function ResultsPart({ context, filter, results }: PageProps & { results: Results }) {
  const { refunds, cursor, next, previous } = results;
  const isOpen = refunds.some(({ refund }) => !isTerminal(refund.status));
  const at = cursor === null ? {} : { cursor };
  const list = `${context.base}/refunds`;
  return (
    <Live id="results" from={`${list}/results${filterQuery(filter, at)}`} everySeconds={isOpen ? 4 : null}>
      <div class="stack">
        <List
          caption="Refunds, newest first"
          narrow="lines"
          items={refunds}
          rowId={({ refund }) => `row-${refund.id}`}
          columns={columnsOf(list)}
        />
        <Pages
          newest={cursor === null ? null : `${list}${filterQuery(filter)}`}
          newer={previous && `${list}${filterQuery(filter, { cursor: previous })}`}
          older={next && `${list}${filterQuery(filter, { cursor: next })}`}
        />
      </div>
    </Live>
  );
}

function columnsOf(list: string): readonly Column<ListedRefund>[] {
  return [
    [
      'Refund',
      ({ refund: { id } }) => (
        <a class="row-link" href={`${list}/${id}`}>
          <code class="clipped" title={id}>
            {id}
          </code>
        </a>
      ),
    ],
    ['Created', ({ refund }) => <Moment at={refund.createdAt} />],
    ['Amount', ({ refund }) => <Amount amount={refund.amount} currency={refund.currency} />, 'number'],
    [
      'Status',
      ({ refund: { status, work } }) => (
        <span class="row">
          <StatusBadge status={status} />
          {work?.flaggedAt == null ? null : <Badge tone="warn">Flagged</Badge>}
        </span>
      ),
    ],
    [
      'Transaction',
      ({ refund: { transactionId } }) => (
        <code class="clipped" title={transactionId}>
          {transactionId}
        </code>
      ),
    ],
    ['Processor', ({ refund }) => processorWord(refund.processor), 'further'],
    [
      'Requested by',
      (listed) => (
        <span class="clipped" title={requestedBy(listed)}>
          {requestedBy(listed)}
        </span>
      ),
      'further',
    ],
  ];
}

function requestedBy({ refund, requester }: ListedRefund): string {
  const source = initiatorWords[refund.initiatedBy];
  return requester === null ? source : `${source}, ${requester}`;
}
