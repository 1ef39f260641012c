import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { recoveryRequiredSince } from '#shared/refunds/lifecycle/recovery.ts';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { waitingOf } from '#shared/refunds/model/waiting.ts';
import { listRequesters, nameRequesters } from '#shared/refunds/queries/find-refunds.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import {
  type CappedCount,
  countRefunds,
  findLargest,
  searchRefunds,
} from '#shared/refunds/queries/search-refunds.ts';
import { ButtonLink, Switch } from '../../components/button.tsx';
import { FilterForm } from '../../components/filter-form.tsx';
import { Pages } from '../../components/list.tsx';
import { Live } from '../../components/live.tsx';
import { Empty, Notice } from '../../components/notice.tsx';
import { type Context, contextOf, useMember } from '../../http/access.ts';
import { cursorIn, type EnteredFilter, filterIn } from '../../http/filter.ts';
import { page } from '../../http/page.ts';
import { withQuery } from '../../http/paths.ts';
import { isForPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import type { Choices } from '../../words/words.ts';
import { accountsToChoose } from './account-choices.ts';
import { areAllSelected, pageAddress, SelectionBar } from './bulk-selection.tsx';
import { ExportForm } from './export-form.tsx';
import {
  filterChips,
  filterChoices,
  filterSchema,
  largestFirst,
  oldestFirst,
  type RefundListFilter,
} from './filter.ts';
import { type ListedRefund, RefundTable } from './refund-table.tsx';
import { capped, Views, views } from './views.tsx';

const filtersOfViews = views.map((view) => view.filter);
const pageLength = 25;
/** The largest are one page. */
const largestLength = 50;
/** Refunds are counted up to this number; the largest are found among as many of the newest. */
const countCap = 10_000;

/** `/refunds`: views, search and filters. */
export function refundListPages(scope: Api, deps: ApiDependencies): void {
  page(scope, '/refunds', 'viewer', (request, reply) => readList(deps, request, reply), RefundList);
}

/** The list as it is asked for; a script gets the results alone, and for an invalid filter there are none. */
interface ListProps {
  filter: RefundListFilter;
  /** Who may be chosen in the filter; none for a script. */
  requesters?: Choices;
  results?: Results;
  count?: CappedCount;
  /** Of the views. */
  counts?: readonly CappedCount[];
  /** To filter by; empty where each processor has one. */
  accounts?: Choices;
}

async function readList(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ListProps> {
  const context = contextOf(request);
  const { owner } = context;
  const filter = filterIn(filterSchema, request.query);
  const { entered, reading } = filter;
  const requesters = isForPart(request) ? [] : await listRequesters(deps.db, owner);
  if (reading.kind === 'invalid') {
    reply.code(400);
    return { filter, requesters, accounts: (await accountsToChoose(deps, owner)).accounts };
  }
  const reads = () => readResults(deps, context, entered, reading.value);
  if (isForPart(request)) return { filter, results: await reads() };
  const countViews = () => countRefunds(deps.db, owner, filtersOfViews, countCap);
  const [results, counts, { accounts }] = await Promise.all([
    reads(),
    deps.slowReads(owner.organizationId, countViews),
    accountsToChoose(deps, owner),
  ]);
  const count = await countAll(deps, owner, results, reading.value);
  return { filter, requesters, accounts, results, counts, count };
}

function RefundList({ filter, requesters = [], accounts = [], results, count, counts }: ListProps) {
  const { entered } = filter;
  const { role } = useMember();
  const isOperator = mayAct(role, 'operator');
  if (results !== undefined && count === undefined) {
    return <ResultsPart entered={entered} results={results} />;
  }
  const create = isOperator && (
    <ButtonLink kind="primary" to="/refunds/new">
      Create refund
    </ButtonLink>
  );
  return (
    <Frame {...sectionOf(entered)} actions={create || undefined}>
      {counts === undefined ? null : <Views entered={entered} counts={counts} />}
      <FilterForm
        to="/refunds"
        schema={filterSchema}
        filter={filter}
        choices={{
          ...filterChoices,
          requestedBy: withEntered('Anyone', requesters, entered.requestedBy),
          account: withEntered('Any', accounts, entered.account),
        }}
        hidden={accounts.length === 0 ? ['sort', 'account'] : ['sort']}
        chips={filterChips}
      />
      {results === undefined || count === undefined ? (
        <Notice tone="bad">Fix the highlighted filters.</Notice>
      ) : count.count === 0 ? (
        <NoRefunds entered={entered} />
      ) : (
        <>
          <CountAndExport entered={entered} count={count} refunds={results.refunds} />
          <div class="stack">
            <ResultsPart entered={entered} results={results} />
            {isOperator && <SelectionBar />}
          </div>
        </>
      )}
    </Frame>
  );
}

/** With the value of the address, such as a requester who is not a member any more, or a connected account that another page links to. */
function withEntered(every: string, choices: Choices, value: EnteredFilter[string] | undefined): Choices {
  const isListed = value === undefined || choices.some(([choice]) => choice === value);
  return [['', every], ...choices, ...(isListed ? [] : [[`${value}`, `${value}`] as const])];
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
  { db, slowReads, clock }: ApiDependencies,
  { owner, query }: Context,
  { sort }: EnteredFilter,
  filter: RefundFilter,
): Promise<Results> {
  const cursor = cursorIn(query);
  const search = { cursor, limit: pageLength, isOldestFirst: sort === oldestFirst };
  const { refunds, next, previous } = await slowReads(owner.organizationId, async () =>
    sort === largestFirst
      ? {
          refunds: await findLargest(db, owner, filter, { among: countCap, limit: largestLength }),
          ...noPages,
        }
      : await searchRefunds(db, owner, filter, search),
  );
  const names = await nameRequesters(db, owner.organizationId, refunds);
  const requiredSince = await recoveryRequiredSince(db);
  const now = clock.now();
  const listed = refunds.map((refund) => ({
    refund,
    waiting: waitingOf(refund, refund.work, requiredSince, now),
    requester: names.get(refund.id) ?? null,
  }));
  return { refunds: listed, cursor, next, previous };
}

const noPages = { next: null, previous: null };

/** How many refunds match. A first page that is not full holds all of them, so they are not counted. */
async function countAll(
  { db, slowReads }: ApiDependencies,
  owner: RefundOwner,
  { refunds, cursor }: Results,
  filter: RefundFilter,
): Promise<CappedCount> {
  const all = { count: refunds.length, atLeast: false };
  if (cursor === null && refunds.length < pageLength) return all;
  const [counted] = await slowReads(owner.organizationId, () => countRefunds(db, owner, [filter], countCap));
  return counted ?? all;
}

interface EnteredProps {
  entered: EnteredFilter;
}

/** The entry of the navigation that leads to a list. */
function sectionOf({ needsAttention }: EnteredFilter) {
  if (needsAttention !== undefined) return { title: 'Needs attention', section: 'attention' } as const;
  return { title: 'Refunds', section: 'refunds' } as const;
}

interface CountProps extends EnteredProps {
  count: CappedCount;
  refunds: Results['refunds'];
}

/** The number of refunds, their order, and a link to export them. */
function CountAndExport({ entered, count, refunds }: CountProps) {
  // The largest are offered in one currency, because amounts of different currencies have no order.
  const currency = refunds[0]?.refund.currency ?? '';
  const metadataKeys = [...new Set(refunds.flatMap(({ refund }) => Object.keys(refund.metadata ?? {})))];
  const { sort = '' } = entered;
  const words = `${capped(count)} ${count.count === 1 ? 'refund' : 'refunds'}`;
  const orders = [
    ['Newest first', { sort: '' }],
    ['Oldest first', { sort: oldestFirst }],
    ...(currency === ''
      ? []
      : [[`Largest in ${currency.toUpperCase()}`, { sort: largestFirst, currency }] as const]),
  ] as const;
  return (
    <div class="spread">
      <p class="muted">
        {words}
        {sort === largestFirst &&
          count.count > largestLength &&
          `, the ${largestLength} largest${count.atLeast ? ` of the newest ${inWhole(countCap)}` : ''}`}
      </p>
      <div class="row">
        <Switch
          label="Order"
          links={orders.map(([text, order]) => ({
            to: withQuery('/refunds', { ...entered, ...order }),
            text,
            isCurrent: sort === order.sort,
          }))}
        />
        <ExportForm entered={entered} words={words} metadataKeys={metadataKeys} />
        <ButtonLink to="/refunds/report">Report</ButtonLink>
      </div>
    </div>
  );
}

function NoRefunds({ entered: { sort: _, ...chosen } }: EnteredProps) {
  const { environment } = useMember();
  const { q } = chosen;
  if (Object.keys(chosen).length > 0) {
    const title = chosen.needsAttention === undefined ? 'No matching refunds' : 'No refund needs attention';
    return (
      <Empty title={title}>
        {q === undefined ? null : <ButtonLink to={withQuery('/search', { q })}>Search for “{q}”</ButtonLink>}
        <ButtonLink to="/refunds">Clear filters</ButtonLink>
      </Empty>
    );
  }
  return (
    <Empty title={`No ${environment} refunds yet`}>
      <p>Refunds appear here once they are created in the dashboard or through the API.</p>
      <ButtonLink to="">See the first steps</ButtonLink>
    </Empty>
  );
}

/** The table with its pagination; it updates itself while any refund in it is open. */
function ResultsPart({ entered, results }: EnteredProps & { results: Results }) {
  const { query, role } = useMember();
  const { refunds, cursor, next, previous } = results;
  const isOpen = refunds.some(({ refund }) => !isTerminal(refund.status));
  const areAllChecked = areAllSelected(query);
  const isOldestFirst = entered.sort === oldestFirst;
  const order = isOldestFirst ? 'oldest' : entered.sort === largestFirst ? 'largest' : 'newest';
  return (
    <Live
      id="results"
      from={pageAddress(query, '/refunds', areAllChecked ? { select: 'all' } : {})}
      everySeconds={isOpen ? 4 : null}
    >
      <div class="stack">
        <RefundTable
          caption={`Refunds, ${order} first`}
          refunds={refunds}
          boxes={mayAct(role, 'operator') ? { areChecked: areAllChecked } : null}
        />
        <Pages
          to="/refunds"
          filter={entered}
          cursor={cursor}
          newer={isOldestFirst ? next : previous}
          older={isOldestFirst ? previous : next}
          isOldestFirst={isOldestFirst}
        />
      </div>
    </Live>
  );
}
