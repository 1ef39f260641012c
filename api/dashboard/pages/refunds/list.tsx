import type { ComponentChildren } from 'preact';
import { mayAct } from '../../../../shared/people/roles.ts';
import { nameRequesters } from '../../../../shared/refunds/queries/name-requesters.ts';
import type { RefundFilter } from '../../../../shared/refunds/queries/refund-filter.ts';
import {
  type CappedCount,
  countRefunds,
  searchRefunds,
} from '../../../../shared/refunds/queries/search-refunds.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { entered as enteredText, type FormProblems } from '../../http/forms.ts';
import { originOf } from '../../http/paths.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { Notice } from '../../layout/notice.tsx';
import { countCap } from './count-words.ts';
import { type EnteredFilter, enteredFilter, isRestricting, readFilter } from './entered-filter.ts';
import { ExportBar } from './export-bar.tsx';
import { FilterForm } from './filter-form.tsx';
import { NothingFound, NothingYet } from './list-empty.tsx';
import { type Results, ResultsPart } from './results.tsx';

const pageLength = 25;
const viewer = { config: { role: 'viewer' as const } };

/** `/refunds`: search and filter, the newest first. */
export function listPages(room: Api, deps: ApiDependencies): void {
  room.get('/refunds', viewer, async (request, reply) => {
    const context = contextOf(request);
    const entered = enteredFilter(request.query);
    const reading = readFilter(entered);
    if (reading.kind === 'invalid') {
      return sendPage(
        reply.code(400),
        <List context={context} entered={entered} problems={reading.problems}>
          <Notice tone="bad">Mend the filter above, and search again.</Notice>
        </List>,
      );
    }
    const [results, count] = await Promise.all([
      readResults(deps, context, reading.value, enteredText(request.query, 'cursor')),
      countRefunds(deps.db, context.owner, reading.value, countCap),
    ]);
    const origin = originOf(request);
    return sendPage(
      reply,
      <List context={context} entered={entered} problems={{}}>
        <Listed context={context} entered={entered} results={results} count={count} origin={origin} />
      </List>,
    );
  });

  room.get('/refunds/results', viewer, async (request, reply) => {
    const context = contextOf(request);
    const entered = enteredFilter(request.query);
    const reading = readFilter(entered);
    // The page asks for it with the filter that it was shown with.
    const filter = reading.kind === 'valid' ? reading.value : {};
    const results = await readResults(deps, context, filter, enteredText(request.query, 'cursor'));
    return sendPart(reply, <ResultsPart context={context} entered={entered} results={results} />);
  });
}

async function readResults(
  { db }: ApiDependencies,
  context: Context,
  filter: RefundFilter,
  enteredCursor: string,
): Promise<Results> {
  const owner = context.owner;
  const cursor = enteredCursor === '' ? null : enteredCursor;
  const { refunds, next, previous } = await searchRefunds(db, owner, filter, { cursor, limit: pageLength });
  const names = await nameRequesters(db, owner.organizationId, refunds);
  const listed = refunds.map((refund) => ({ refund, who: names.get(refund.id) ?? null }));
  return { refunds: listed, cursor, next, previous };
}

interface ListProps {
  context: Context;
  entered: EnteredFilter;
  problems: FormProblems;
  children: ComponentChildren;
}

function List({ context, entered, problems, children }: ListProps) {
  const to = `${context.base}/refunds`;
  const create = mayAct(context.role, 'operator') ? (
    <a class="button" data-kind="primary" href={`${to}/new`}>
      Create a refund
    </a>
  ) : undefined;
  return (
    <Frame context={context} title="Refunds" room="refunds" actions={create}>
      <div class="stack">
        <FilterForm to={to} entered={entered} problems={problems} />
        {children}
      </div>
    </Frame>
  );
}

interface ListedProps {
  context: Context;
  entered: EnteredFilter;
  results: Results;
  count: CappedCount;
  origin: string;
}

function Listed({ context, entered, results, count, origin }: ListedProps) {
  if (count.count === 0) {
    return isRestricting(entered) ? (
      <NothingFound to={`${context.base}/refunds`} />
    ) : (
      <NothingYet context={context} origin={origin} />
    );
  }
  return (
    <>
      <ExportBar context={context} entered={entered} count={count} />
      <ResultsPart context={context} entered={entered} results={results} />
    </>
  );
}
