import type { ComponentChildren } from 'preact';
import type { Overview } from '#shared/insights/overview.ts';
import type { Context } from '../../http/access.ts';
import { StatusBadge } from '../../layout/badge.tsx';
import { Card } from '../../layout/card.tsx';
import { inPercent, inTime, inWhole } from '../../layout/numbers.ts';
import { initiatorWords, processorWord } from '../../layout/words.ts';

interface BreakdownsProps {
  context: Context;
  overview: Overview;
}

/** Lists of numbers: outcomes, failure codes, time to completion, sources and processors. */
export function Breakdowns({ context, overview }: BreakdownsProps) {
  const { outcomes, failureCodes, completion, byInitiator, byProcessor } = overview;
  return (
    <div class="columns">
      <Breakdown
        id="outcomes"
        title="Outcomes"
        rows={outcomes.map(({ status, count, share }) => [
          <StatusBadge key="status" status={status} />,
          <>
            {inWhole(count)} <span class="muted">{inPercent(share)}</span>
          </>,
        ])}
      />
      <Breakdown
        id="completion"
        title="Time to completion"
        rows={
          completion === null
            ? []
            : [
                ['Median', inTime(completion.medianMs)],
                ['90% within', inTime(completion.p90Ms)],
                ['99% within', inTime(completion.p99Ms)],
              ]
        }
        empty="No completed refunds."
      >
        <p class="muted small">From creation to completion, including approval.</p>
      </Breakdown>
      <Breakdown
        id="sources"
        title="Sources"
        rows={byInitiator.map(({ name, count }) => [initiatorWords[name], inWhole(count)])}
      />
      <Breakdown
        id="processors"
        title="Processors"
        rows={byProcessor.map(({ name, count }) => [processorWord(name), inWhole(count)])}
      />
      <Breakdown
        id="failures"
        title="Failure codes"
        rows={failureCodes.map(({ code, count }) => [<code key="code">{code}</code>, inWhole(count)])}
        empty="No failed refunds."
      >
        <p>
          <a href={`${context.base}/refunds?status=failed`}>View failed refunds</a>
        </p>
      </Breakdown>
    </div>
  );
}

interface BreakdownProps {
  id: string;
  title: string;
  rows: readonly (readonly [name: ComponentChildren, value: ComponentChildren])[];
  /** Shown instead of no rows. */
  empty?: string;
  children?: ComponentChildren;
}

function Breakdown({ id, title, rows, empty, children }: BreakdownProps) {
  return (
    <Card id={id} title={title}>
      {rows.length === 0 ? <p class="muted">{empty}</p> : null}
      <ul class="stack-tight">
        {rows.map(([name, value]) => (
          <li class="spread">
            <span>{name}</span>
            <span class="number">{value}</span>
          </li>
        ))}
      </ul>
      {children}
    </Card>
  );
}
