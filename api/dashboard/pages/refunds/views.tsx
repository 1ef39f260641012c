import type { SavedView } from '#shared/people/members/saved-views.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import type { CappedCount } from '#shared/refunds/queries/search-refunds.ts';
import { Link } from '../../components/button.tsx';
import { inWhole } from '../../words/numbers.ts';
import { type EnteredFilter, filterQuery } from './filter.ts';

/** What is chosen most often from the list, each as its query and the same for the database. */
export const views = [
  { title: 'All', query: '', filter: {} },
  { title: 'Needs attention', query: '?needsAttention=true', filter: { needsAttention: true } },
  { title: 'Awaiting approval', query: '?status=pending', filter: { statuses: ['pending'] } },
  { title: 'Processing', query: '?status=processing', filter: { statuses: ['processing'] } },
  { title: 'Outcome unknown', query: '?outcomeUnknown=true', filter: { outcomeUnknown: true } },
  { title: 'Completed', query: '?status=completed', filter: { statuses: ['completed'] } },
  { title: 'Failed', query: '?status=failed', filter: { statuses: ['failed'] } },
  { title: 'Cancelled', query: '?status=cancelled', filter: { statuses: ['cancelled'] } },
] as const satisfies readonly { title: string; query: string; filter: RefundFilter }[];

/** The one of these views that a filter is, whatever its order; undefined for none of them. */
export function viewOf<View extends { query: string }>(
  filter: EnteredFilter,
  among: readonly View[],
): View | undefined {
  const query = queryOf(filter);
  return among.find((view) => view.query === query);
}

/** A filter as the query of a view, which has no order. */
export function queryOf(filter: EnteredFilter): string {
  return filterQuery({ ...filter, sort: '' });
}

interface ViewsProps {
  filter: EnteredFilter;
  /** Of each view. */
  counts: readonly CappedCount[];
  saved: readonly SavedView[];
}

/** Links to the views that have refunds, with the number in each, and to those that the member saved. */
export function Views({ filter, counts, saved }: ViewsProps) {
  const all = [...views, ...saved];
  const current = viewOf(filter, all);
  return (
    <nav class="chips" aria-label="Views">
      {all.map((view, index) =>
        view !== current && counts[index]?.count === 0 ? null : (
          <Link to={`/refunds${view.query}`} aria-current={view === current ? 'true' : undefined}>
            {'title' in view ? `${view.title} ` : view.name}
            {'title' in view && <span class="number muted">{capped(counts[index])}</span>}
          </Link>
        ),
      )}
    </nav>
  );
}

/** A count in words: 10,000+. */
export function capped({ count, atLeast }: CappedCount = { count: 0, atLeast: false }): string {
  return `${inWhole(count)}${atLeast ? '+' : ''}`;
}
