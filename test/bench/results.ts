import { cpus } from 'node:os';
import { type Both, type Measured, total } from './measure.ts';
import type { QueueKind, RowId } from './options.ts';
import type { LoadId } from './requests.ts';
import type { Scenario } from './scenarios.ts';

export interface Results {
  rows: Row[];
  figures: Figure[];
}

/** How a scenario is measured. */
export interface Conditions {
  scenario: Scenario;
  queue: QueueKind;
  seconds: number;
  rounds: number;
  connections: number;
}

/** A line of the main table. */
export interface Row {
  title: string;
  servicePerSecond: number;
  /** Of the service's answers in milliseconds; null where a row is not about answers. */
  p50: number | null;
  p99: number | null;
  nakedPerSecond: number;
  /** Requests that were not answered with 200, by status or error; null where a row is not about answers. */
  refusals: Both<Measured['refusals']> | null;
}

/** A line of the second table; null where it was not measured. */
export interface Figure {
  title: string;
  service: number | null;
  naked: number | null;
  digits: number;
}

/** Rates of a load. `completed` counts refunds from the first creation to the last completion. */
interface RowRecipe {
  id: RowId;
  title: string;
  load: LoadId;
  rates?: Both<'answered' | 'completed'>;
}

const recipes: readonly RowRecipe[] = [
  { id: 'create', title: 'create, `Prefer: respond-async`', load: 'create' },
  { id: 'key', title: 'create with `Idempotency-Key`', load: 'key' },
  { id: 'new', title: 'create, payment not seen before', load: 'new' },
  {
    id: 'wait',
    title: 'create and wait for the verdict',
    load: 'wait',
    // The naked pipeline has no waiting, so that its completions are compared.
    rates: { service: 'answered', naked: 'completed' },
  },
  {
    id: 'completed',
    title: 'created and completed',
    load: 'create',
    rates: { service: 'completed', naked: 'completed' },
  },
  { id: 'get', title: 'get', load: 'get' },
  { id: 'list', title: 'list of 25', load: 'list' },
];

/** The loads that rows need, each once. */
export function loadsFor(rows: readonly RowId[]): LoadId[] {
  return [...new Set(recipes.filter(({ id }) => rows.includes(id)).map(({ load }) => load))];
}

export function buildRows(asked: readonly RowId[], measured: Map<LoadId, Both<Measured>>): Row[] {
  return recipes.flatMap(({ id, title, load, rates }) => {
    const pair = measured.get(load);
    return pair === undefined || !asked.includes(id) ? [] : buildRow(title, pair, rates);
  });
}

export function buildRow(title: string, { service, naked }: Both<Measured>, rates?: RowRecipe['rates']): Row {
  const rate = (measured: Measured, of: 'answered' | 'completed' = 'answered') =>
    (measured.answered / measured[`${of}Ms`]) * 1000;
  const isOfAnswers = rates?.service !== 'completed';
  return {
    title,
    servicePerSecond: rate(service, rates?.service),
    p50: isOfAnswers ? percentile(service.latencies, 0.5) : null,
    p99: isOfAnswers ? percentile(service.latencies, 0.99) : null,
    nakedPerSecond: rate(naked, rates?.naked),
    refusals: isOfAnswers ? { service: service.refusals, naked: naked.refusals } : null,
  };
}

/** @returns null when there are no values. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** What was measured, with its conditions, as Markdown. @param results or a table. */
export function report(conditions: Conditions, results: Results | string): string {
  const { scenario, queue } = conditions;
  const heading = `### ${scenario.title}, queue on ${queue === 'redis' ? 'Redis' : 'PostgreSQL'}`;
  const parts = typeof results === 'string' ? [results] : tablesOf(results);
  return `${[heading, describe(conditions), ...parts].join('\n\n')}\n`;
}

function describe({ scenario, seconds, rounds, connections }: Conditions): string {
  const [cpu] = cpus();
  const parts = [
    `${rounds} rounds of ${seconds} s, ${connections} connections`,
    scenario.webhooks
      ? "with the processor's webhooks and one webhook endpoint of the service"
      : 'without webhooks in either direction',
    `Node ${process.version}, ${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'})`,
  ];
  return `${parts.join('; ')}.`;
}

function tablesOf({ rows, figures }: Results): string[] {
  return [
    ...(rows.length === 0 ? [] : [rowTable(rows)]),
    ...rows.flatMap(refusalsOf),
    ...(figures.length === 0 ? [] : [figureTable(figures)]),
  ];
}

function rowTable(rows: readonly Row[]): string {
  return table(
    ['', 'service/s', 'p50 ms', 'p99 ms', 'refused', 'naked/s', 'kept'],
    rows.map(({ title, servicePerSecond, p50, p99, refusals, nakedPerSecond }) => [
      title,
      number(servicePerSecond),
      number(p50, 1),
      number(p99, 1),
      number(refusals === null ? null : total(refusals.service)),
      number(nakedPerSecond),
      number(servicePerSecond / nakedPerSecond, 2),
    ]),
  );
}

/** Which answers there were instead of 200. */
function refusalsOf({ title, refusals }: Row): string[] {
  return Object.entries(refusals ?? {}).flatMap(([name, counts]) => {
    const kinds = [...counts].map(([kind, count]) => `${number(count)} with ${kind}`);
    return kinds.length === 0 ? [] : `Refused by the ${name}, ${title}: ${kinds.join(', ')}.`;
  });
}

function figureTable(figures: readonly Figure[]): string {
  return table(
    ['', 'service', 'naked'],
    figures.map(({ title, service, naked, digits }) => [
      title,
      number(service, digits),
      number(naked, digits),
    ]),
  );
}

export function number(value: number | null, digits = 0): string {
  if (value === null) return '-';
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
