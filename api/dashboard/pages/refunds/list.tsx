import type { ComponentChildren } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/people/roles.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { nameRequesters } from '#shared/refunds/queries/find-refunds.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import { type CappedCount, countRefunds, searchRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { capitalized, entered, type FormProblems } from '../../http/forms.ts';
import { originOf } from '../../http/paths.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Badge, StatusBadge } from '../../layout/badge.tsx';
import { ButtonLink } from '../../layout/button.tsx';
import { FirstCommand } from '../../layout/first-command.tsx';
import { Frame } from '../../layout/frame.tsx';
import { Live } from '../../layout/live.tsx';
import { Empty, Notice } from '../../layout/notice.tsx';
import { inWhole } from '../../layout/numbers.ts';
import { type Column, Table, type TableRow } from '../../layout/table.tsx';
import { Amount, Moment } from '../../layout/values.tsx';
import { initiatorWords, processorWord } from '../../layout/words.ts';
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
        <List context={context} filter={filter} problems={reading.problems}>
          <Notice tone="bad">Fix the highlighted filters.</Notice>
        </List>,
      );
    }
    const [results, count] = await Promise.all([
      readResults(deps, context, reading.value, entered(request.query, 'cursor')),
      countRefunds(deps.db, context.owner, reading.value, countCap),
    ]);
    return sendPage(
      reply,
      <List context={context} filter={filter} problems={{}}>
        {count.count === 0 ? (
          <NoRefunds context={context} filter={filter} origin={originOf(request)} />
        ) : (
          <>
            <CountAndExport context={context} filter={filter} count={count} />
            <ResultsPart context={context} filter={filter} results={results} />
          </>
        )}
      </List>,
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

interface ListProps {
  context: Context;
  filter: EnteredFilter;
}

interface WholeListProps extends ListProps {
  problems: FormProblems;
  children: ComponentChildren;
}

function List({ context, filter, problems, children }: WholeListProps) {
  const create = mayAct(context.role, 'operator') ? <CreateLink context={context} /> : undefined;
  return (
    <Frame context={context} title="Refunds" section="refunds" actions={create}>
      <FilterForm to={`${context.base}/refunds`} filter={filter} problems={problems} />
      {children}
    </Frame>
  );
}

function CreateLink({ context }: { context: Context }) {
  return (
    <ButtonLink kind="primary" to={`${context.base}/refunds/new`}>
      Create refund
    </ButtonLink>
  );
}

/** The number of refunds, and a link to export them. */
function CountAndExport({ context, filter, count: { count, atLeast } }: ListProps & { count: CappedCount }) {
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

function NoRefunds({ context, filter, origin }: ListProps & { origin: string }) {
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
function ResultsPart({ context, filter, results }: ListProps & { results: Results }) {
  const { refunds, cursor, next, previous } = results;
  const isOpen = refunds.some(({ refund }) => !isTerminal(refund.status));
  const at = cursor === null ? {} : { cursor };
  const list = `${context.base}/refunds`;
  return (
    <Live id="results" from={`${list}/results${filterQuery(filter, at)}`} everySeconds={isOpen ? 4 : null}>
      <div class="card card-flush table-scroll">
        <Table
          caption="Refunds, newest first"
          columns={columns}
          narrow="lines"
          rows={refunds.map((listed) => rowOf(list, listed))}
        />
      </div>
      <nav class="row pager" aria-label="Pages">
        <PageLink to={previous && `${list}${filterQuery(filter, { cursor: previous })}`}>Newer</PageLink>
        <PageLink to={next && `${list}${filterQuery(filter, { cursor: next })}`}>Older</PageLink>
        {cursor === null ? null : <a href={`${list}${filterQuery(filter)}`}>Newest</a>}
      </nav>
    </Live>
  );
}

function PageLink({ to, children }: { to: string | null; children: string }) {
  return to === null ? null : <ButtonLink to={to}>{children}</ButtonLink>;
}

const columns: readonly Column[] = [
  { title: 'Refund' },
  { title: 'Created' },
  { title: 'Amount', kind: 'number' },
  { title: 'Status' },
  { title: 'Transaction' },
  { title: 'Processor', kind: 'further' },
  { title: 'Requested by', kind: 'further' },
];

function rowOf(list: string, { refund, requester }: ListedRefund): TableRow {
  const { id, createdAt, amount, currency, status, work, transactionId, processor, initiatedBy } = refund;
  const source = initiatorWords[initiatedBy];
  const requestedBy = requester === null ? source : `${source}, ${requester}`;
  return {
    key: id,
    id: `row-${id}`,
    cells: [
      <a class="row-link" href={`${list}/${id}`} key="refund">
        <code class="clipped" title={id}>
          {id}
        </code>
      </a>,
      <Moment at={createdAt} key="created" />,
      <Amount amount={amount} currency={currency} key="amount" />,
      <span class="row" key="status">
        <StatusBadge status={status} />
        {work?.flaggedAt == null ? null : <Badge tone="warn">Flagged</Badge>}
      </span>,
      <code class="clipped" title={transactionId} key="transaction">
        {transactionId}
      </code>,
      processorWord(processor),
      <span class="clipped" title={requestedBy} key="requester">
        {requestedBy}
      </span>,
    ],
  };
}
