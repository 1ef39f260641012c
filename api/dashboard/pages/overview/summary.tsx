import type { ComponentChildren } from 'preact';
import type { Overview } from '#shared/insights/overview.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { Link } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { withQuery } from '../../http/paths.ts';
import { inMoney, inPercent, inTime, inWhole } from '../../words/numbers.ts';
import { failureWord, initiatorWords } from '../../words/words.ts';

interface SummaryProps {
  overview: Overview;
}

/** The key figures, each beside that of the period before. */
export function Tiles({ overview }: SummaryProps) {
  const { total, counts, outcomes, completion, before, money, currency, window } = overview;
  const completed = outcomes.find(({ status }) => status === 'completed');
  const share = outcomes.some(({ count }) => count > 0) ? inPercent(completed?.share ?? 0) : '-';
  const shareBefore =
    before.completedShare === null ? 'of finished refunds' : `${inPercent(before.completedShare)} before`;
  const awaiting =
    counts.pending === 0
      ? 'none awaits approval'
      : `${inWhole(counts.pending)} ${counts.pending === 1 ? 'awaits' : 'await'} approval`;
  const median = completion === null ? '-' : inTime(completion.medianMs);
  const times = [
    'median',
    before.medianMs === null ? [] : `${inTime(before.medianMs)} before`,
    completion === null ? [] : `90% within ${inTime(completion.p90Ms)}`,
  ].flat();
  const list = listOf(overview);
  const inCurrency = money.find((each) => each.currency === currency)?.amounts.completed;
  const period = window.length === 1 ? 'the 24 hours before' : `the ${window.length} days before`;
  /** A number that leads to what it counts. */
  const tileOf = (name: string, value: string, comparison: string, filter: ListFilter) => (
    <Link class="card tile" to={list(filter)}>
      <span class="muted small">{name}</span>
      <span class="tile-value">{value}</span>
      <span class="muted small">{comparison}</span>
    </Link>
  );
  return (
    <section class="tiles" aria-label={`Key figures, compared with ${period}`}>
      {tileOf('Refunds', inWhole(total), changeOf(total, before.total), {})}
      {inCurrency !== undefined &&
        currency !== null &&
        tileOf(
          `Refunded in ${currency.toUpperCase()}`,
          inNumber(inCurrency, currency),
          changeOf(Number(inCurrency), Number(before.completedAmount), (amount) =>
            inNumber(BigInt(amount), currency),
          ),
          { status: 'completed', currency },
        )}
      {tileOf('Completed', share, shareBefore, { status: 'completed' })}
      {tileOf('Failed', inWhole(counts.failed), changeOf(counts.failed, before.failed), { status: 'failed' })}
      {tileOf('In progress', inWhole(counts.pending + counts.processing), awaiting, {
        status: ['pending', 'processing'],
      })}
      {tileOf('Completion time', median, times.join(', '), { status: 'completed' })}
    </section>
  );
}

/** Without the currency, which the tile names. */
function inNumber(amount: bigint, currency: string): string {
  return inMoney(amount, currency).slice(0, -currency.length - 1);
}

/** "+12.5%, 40 before". */
function changeOf(now: number, before: number, inWords = inWhole): string {
  if (before === 0) return 'none before';
  const change = (now - before) / before;
  const sign = change > 0 ? '+' : change < 0 ? '−' : '±';
  return `${sign}${inPercent(Math.abs(change))}, ${inWords(before)} before`;
}

type ListFilter = Readonly<Record<string, string | readonly string[]>>;

/** Makes addresses of the list of this period's refunds. */
function listOf({ window }: Overview) {
  return (filter: ListFilter) =>
    withQuery('/refunds', { ...filter, from: window.from.toISOString().slice(0, 10) });
}

/** Why refunds failed, and where they came from. */
export function Breakdowns({ overview }: SummaryProps) {
  const { failureCodes, byInitiator, byProcessor } = overview;
  const list = listOf(overview);
  const row = (words: string, count: number, filter: Record<string, string>): Row => [
    <Link to={list(filter)}>{words}</Link>,
    count,
  ];
  return (
    <div class="columns">
      <Breakdown
        id="failures"
        title="Why refunds failed"
        empty="No failed refunds."
        rows={failureCodes.map(({ code, count }) =>
          row(failureWord(code), count, { status: 'failed', failureCode: code ?? '' }),
        )}
      />
      <Breakdown
        id="sources"
        title="Sources and processors"
        rows={[
          ...byInitiator.map(({ name, count }) => row(initiatorWords[name], count, { initiatedBy: name })),
          ...byProcessor.map(({ name, count }) => row(displayNameOf(name), count, { processor: name })),
        ]}
      />
    </div>
  );
}

type Row = readonly [name: ComponentChildren, value: number | string];

interface BreakdownProps {
  id: string;
  title: string;
  rows: readonly Row[];
  /** Shown instead of no rows. */
  empty?: string;
}

function Breakdown({ id, title, rows, empty }: BreakdownProps) {
  return (
    <Card id={id} title={title}>
      {rows.length === 0 ? <p class="muted">{empty}</p> : null}
      <ul class="stack-tight">
        {rows.map(([name, value], index) => (
          <li key={index} class="spread">
            <span>{name}</span>
            <span class="number">{typeof value === 'number' ? inWhole(value) : value}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
