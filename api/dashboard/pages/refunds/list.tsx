import type { ComponentChildren } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { recoveryRequiredSince } from '#shared/refunds/lifecycle/recovery.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { waitingOf } from '#shared/refunds/model/waiting.ts';
import { nameRequesters } from '#shared/refunds/queries/find-refunds.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import {
  type CappedCount,
  countRefunds,
  findLargest,
  searchRefunds,
} from '#shared/refunds/queries/search-refunds.ts';
import { ButtonLink, Switch } from '../../components/button.tsx';
import { Pages } from '../../components/list.tsx';
import { Live } from '../../components/live.tsx';
import { Empty, Notice } from '../../components/notice.tsx';
import { type Context, contextOf, needs, useMember } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { isForPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import { areAllSelected, pageQuery, SelectionBar } from './bulk-selection.tsx';
import {
  type EnteredFilter,
  enteredFilter,
  filterQuery,
  isRestricting,
  largestFirst,
  oldestFirst,
  readFilter,
} from './filter.ts';
import { FilterForm } from './filter-form.tsx';
import { type ListedRefund, RefundTable } from './refund-table.tsx';
import { capped, Views, views } from './views.tsx';

const pageLength = 25;
/** The largest are one page. */
const largestLength = 50;
/** Refunds are counted up to this number; the largest are found among as many of the newest. */
const countCap = 10_000;

/** `/refunds`: views, search and filters. */
export function refundListPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/refunds', needs('viewer'), async (request, reply) => {
    const context = contextOf(request);
    const filter = enteredFilter(request.query);
    const reading = readFilter(filter);
    if (reading.kind === 'invalid') {
      reply.code(400);
      return reply.send(
        <Page filter={filter} problems={reading.problems}>
          <Notice tone="bad">Fix the highlighted filters.</Notice>
        </Page>,
      );
    }
    if (isForPart(request)) {
      const results = await readResults(deps, context, filter, reading.value);
      return reply.send(<ResultsPart filter={filter} results={results} />);
    }
    const counted = views.map((view) => view.filter);
    const [{ results, count }, counts] = await Promise.all([
      readCounted(deps, context, filter, reading.value),
      deps.slowReads(context.owner.organizationId, () =>
        countRefunds(deps.db, context.owner, counted, countCap),
      ),
    ]);
    return reply.send(
      <Page filter={filter} counts={counts} problems={{}}>
        {count.count === 0 ? (
          <NoRefunds filter={filter} />
        ) : (
          <>
            <CountAndExport filter={filter} count={count} currency={results.refunds[0]?.refund.currency} />
            <div class="stack">
              <ResultsPart filter={filter} results={results} />
              {mayAct(context.role, 'operator') && <SelectionBar />}
            </div>
          </>
        )}
      </Page>,
    );
  });
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
  const cursor = entered(query, 'cursor') || null;
  const page = { cursor, limit: pageLength, isOldestFirst: sort === oldestFirst };
  const { refunds, next, previous } = await slowReads(owner.organizationId, async () =>
    sort === largestFirst
      ? {
          refunds: await findLargest(db, owner, filter, { among: countCap, limit: largestLength }),
          ...noPages,
        }
      : await searchRefunds(db, owner, filter, page),
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

/** A page of the list and how many refunds match. A first page that is not full holds all of them, so they are not counted. */
async function readCounted(
  deps: ApiDependencies,
  context: Context,
  entered: EnteredFilter,
  filter: RefundFilter,
) {
  const results = await readResults(deps, context, entered, filter);
  const { refunds, cursor } = results;
  const holdsAll = cursor === null && refunds.length < pageLength;
  const { owner } = context;
  const count = () => countRefunds(deps.db, owner, [filter], countCap);
  const [counted] = holdsAll ? [] : await deps.slowReads(owner.organizationId, count);
  return { results, count: counted ?? { count: refunds.length, atLeast: false } };
}

interface PageProps {
  filter: EnteredFilter;
}

interface WholePageProps extends PageProps {
  /** Of the views; none for an invalid filter. */
  counts?: readonly CappedCount[];
  problems: FormProblems;
  children: ComponentChildren;
}

function Page({ filter, counts, problems, children }: WholePageProps) {
  const create = mayAct(useMember().role, 'operator') && (
    <ButtonLink kind="primary" to="/refunds/new">
      Create refund
    </ButtonLink>
  );
  return (
    <Frame {...sectionOf(filter)} actions={create || undefined}>
      {counts === undefined ? null : <Views filter={filter} counts={counts} />}
      <FilterForm filter={filter} problems={problems} />
      {children}
    </Frame>
  );
}

/** The entry of the navigation that leads to a list. */
function sectionOf({ needsAttention }: EnteredFilter) {
  if (needsAttention !== '') return { title: 'Needs attention', section: 'attention' } as const;
  return { title: 'Refunds', section: 'refunds' } as const;
}

interface CountProps extends PageProps {
  count: CappedCount;
  /** The largest are offered in this currency, because amounts of different currencies have no order. */
  currency: string | undefined;
}

/** The number of refunds, their order, and a link to export them. */
function CountAndExport({ filter, count, currency = filter.currency }: CountProps) {
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
        {filter.sort === largestFirst &&
          count.count > largestLength &&
          `, the ${largestLength} largest${count.atLeast ? ` of the newest ${inWhole(countCap)}` : ''}`}
      </p>
      <div class="row">
        <Switch
          label="Order"
          links={orders.map(([text, order]) => ({
            to: `/refunds${filterQuery({ ...filter, ...order })}`,
            text,
            isCurrent: filter.sort === order.sort,
          }))}
        />
        <ButtonLink id="export" to={`/refunds/export${filterQuery({ ...filter, sort: '' })}`}>
          Export {words} as CSV
        </ButtonLink>
      </div>
    </div>
  );
}

function NoRefunds({ filter }: PageProps) {
  const { environment } = useMember();
  if (isRestricting(filter)) {
    return (
      <Empty title={filter.needsAttention === '' ? 'No matching refunds' : 'No refund needs attention'}>
        {filter.q === '' ? null : (
          <ButtonLink to={`/search?${new URLSearchParams({ q: filter.q })}`}>
            Search for “{filter.q}”
          </ButtonLink>
        )}
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
function ResultsPart({ filter, results }: PageProps & { results: Results }) {
  const { query, role } = useMember();
  const { refunds, cursor, next, previous } = results;
  const isOpen = refunds.some(({ refund }) => !isTerminal(refund.status));
  const areAllChecked = areAllSelected(query);
  const pageAt = (to: string | null) => to && `/refunds${filterQuery(filter, { cursor: to })}`;
  const isOldestFirst = filter.sort === oldestFirst;
  const order = isOldestFirst ? 'oldest' : filter.sort === largestFirst ? 'largest' : 'newest';
  return (
    <Live
      id="results"
      from={`/refunds${pageQuery(query, { select: areAllChecked })}`}
      everySeconds={isOpen ? 4 : null}
    >
      <div class="stack">
        <RefundTable
          caption={`Refunds, ${order} first`}
          refunds={refunds}
          boxes={mayAct(role, 'operator') ? { areChecked: areAllChecked } : null}
        />
        <Pages
          newest={isOldestFirst || cursor === null ? null : `/refunds${filterQuery(filter)}`}
          newer={pageAt(isOldestFirst ? next : previous)}
          older={pageAt(isOldestFirst ? previous : next)}
        />
      </div>
    </Live>
  );
}
