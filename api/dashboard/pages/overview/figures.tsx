import type { Overview } from '#shared/insights/overview.ts';
import { inPercent, inTime, inWhole } from '../../layout/numbers.ts';

/** The key figures. */
export function Figures({ overview: { total, counts, outcomes, completion } }: { overview: Overview }) {
  const completed = outcomes.find(({ status }) => status === 'completed');
  return (
    <section class="figures" aria-label="Key figures">
      <Figure name="Refunds" value={inWhole(total)} />
      <Figure name="In progress" value={inWhole(counts.pending + counts.processing)} />
      <Figure
        name="Completed"
        value={outcomes.some(({ count }) => count > 0) ? inPercent(completed?.share ?? 0) : '-'}
        detail="of finished refunds"
      />
      <Figure
        name="Time to completion"
        value={completion === null ? '-' : inTime(completion.medianMs)}
        detail={completion === null ? undefined : 'median'}
      />
    </section>
  );
}

function Figure({ name, value, detail }: { name: string; value: string; detail?: string | undefined }) {
  return (
    <div class="card">
      <p class="muted small">{name}</p>
      <p class="figure-value">{value}</p>
      {detail === undefined ? null : <p class="muted small">{detail}</p>}
    </div>
  );
}
