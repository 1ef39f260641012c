import type { Overview, StatusCounts } from '../../../../shared/insights/overview.ts';
import { completionBoundsMs } from '../../../../shared/insights/overview-queries.ts';
import type { InitiatedBy } from '../../../../shared/refunds/model/reasons.ts';
import { ShareBar } from '../../charts/share-bar.tsx';
import { StackedBars } from '../../charts/stacked-bars.tsx';
import type { Context } from '../../http/access.ts';
import { StatusBadge } from '../../layout/badge.tsx';
import { inPercent, inTime, inWhole } from '../../layout/numbers.ts';
import { initiatorWords, processorWord } from '../../layout/words.ts';

interface CardProps {
  overview: Overview;
}

/** Final statuses and their shares. */
export function OutcomesCard({ overview: { outcomes } }: CardProps) {
  return (
    <section class="card stack" aria-labelledby="outcomes">
      <h2 id="outcomes">Outcomes</h2>
      <ShareBar parts={outcomes.map(({ status, share }) => ({ name: status, share }))} />
      <ul class="stack-tight">
        {outcomes.map(({ status, count, share }) => (
          <li key={status} class="spread">
            <StatusBadge status={status} />
            <span class="number">
              {inWhole(count)} <span class="muted">{inPercent(share)}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The time from creation to completion. */
export function CompletionCard({ overview: { completion } }: CardProps) {
  return (
    <section class="card stack" aria-labelledby="completion">
      <h2 id="completion">Time to completion</h2>
      {completion === null ? (
        <p class="muted">No completed refunds.</p>
      ) : (
        <>
          <StackedBars
            title="Completed refunds by time to completion"
            unit="Up to"
            isNarrow
            bars={completion.spread.map((count, index) => ({
              label: spanInWords(index),
              values: { completed: count },
            }))}
            series={[{ name: 'completed', label: 'Refunds' }]}
            format={inWhole}
          />
          <p class="muted small">
            From creation to completion, including approval. Median {inTime(completion.medianMs)}, 90% within{' '}
            {inTime(completion.p90Ms)}, 99% within {inTime(completion.p99Ms)}.
          </p>
        </>
      )}
    </section>
  );
}

function spanInWords(index: number): string {
  const bound = completionBoundsMs[index];
  return bound === undefined ? 'more' : inTime(bound);
}

/** Refunds by source and by processor. */
export function SourcesCard({ overview: { byProcessor, byInitiator } }: CardProps) {
  return (
    <section class="card stack" aria-labelledby="sources">
      <h2 id="sources">Sources and processors</h2>
      <Counts
        title="Source"
        rows={byInitiator.map(({ initiatedBy, counts }) => [
          initiatorWords[initiatedBy as InitiatedBy],
          counts,
        ])}
      />
      <Counts
        title="Processor"
        rows={byProcessor.map(({ processor, counts }) => [processorWord(processor), counts])}
      />
    </section>
  );
}

function Counts({ title, rows }: { title: string; rows: [string, StatusCounts][] }) {
  return (
    <div class="stack-tight">
      <h3>{title}</h3>
      <ul class="stack-tight">
        {rows.map(([name, counts]) => (
          <li key={name} class="spread">
            <span>{name}</span>
            <span class="number">
              {inWhole(Object.values(counts).reduce((sum, count) => sum + count, 0))}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Failures by code. */
export function FailuresCard({ context, overview: { failureCodes } }: CardProps & { context: Context }) {
  return (
    <section class="card stack" aria-labelledby="failures">
      <h2 id="failures">Failure codes</h2>
      {failureCodes.length === 0 ? (
        <p class="muted">No failed refunds.</p>
      ) : (
        <ul class="stack-tight">
          {failureCodes.map(({ code, count }) => (
            <li key={code} class="spread">
              <code>{code}</code>
              <span class="number">{inWhole(count)}</span>
            </li>
          ))}
        </ul>
      )}
      <p>
        <a href={`${context.base}/refunds?status=failed`}>View failed refunds</a>
      </p>
    </section>
  );
}
