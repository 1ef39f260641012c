import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import type { CappedCount } from '#shared/refunds/queries/search-refunds.ts';
import { Link } from '../../components/button.tsx';
import type { EnteredFilter } from '../../http/filter.ts';
import { withQuery } from '../../http/paths.ts';
import { inWhole } from '../../words/numbers.ts';

/** What is chosen most often from the list, each as its query and the same for the database. */
export const views = [
  { title: 'All', query: '', filter: {} },
  { title: 'Needs attention', query: '?needsAttention=true', filter: { needsAttention: true } },
  { title: 'Awaiting approval', query: '?status=pending', filter: { status: ['pending'] } },
  { title: 'Processing', query: '?status=processing', filter: { status: ['processing'] } },
  { title: 'Outcome unknown', query: '?outcomeUnknown=true', filter: { outcomeUnknown: true } },
  { title: 'Completed', query: '?status=completed', filter: { status: ['completed'] } },
  { title: 'Failed', query: '?status=failed', filter: { status: ['failed'] } },
  { title: 'Cancelled', query: '?status=cancelled', filter: { status: ['cancelled'] } },
] as const satisfies readonly { title: string; query: string; filter: RefundFilter }[];

interface ViewsProps {
  entered: EnteredFilter;
  /** Of each view. */
  counts: readonly CappedCount[];
}

/** Links to the views that have refunds, with the number in each. The current one is the filter, in any order. */
export function Views({ entered, counts }: ViewsProps) {
  const query = withQuery('', { ...entered, sort: '' });
  return (
    <nav class="chips" aria-label="Views">
      {views.map((view, index) =>
        view.query !== query && counts[index]?.count === 0 ? null : (
          <Link to={`/refunds${view.query}`} aria-current={view.query === query ? 'true' : undefined}>
            {view.title} <span class="number muted">{capped(counts[index])}</span>
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
