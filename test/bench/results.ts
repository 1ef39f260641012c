import { cpus } from 'node:os';
import type { TableSize } from './figures.ts';
import type { Measured, MeasuredLoads } from './measure.ts';
import type { BenchOptions, QueueKind, RowId } from './options.ts';
import type { LoadId } from './requests.ts';

/** The results for one kind of queue. */
export interface QueueResult {
  queue: QueueKind;
  rows: Row[];
  figures: Figure[];
  /** Of the service; null without --preload. */
  tables: TableSize[] | null;
  /** Reasons to doubt the numbers. */
  warnings: string[];
}

/** A line of the main table. */
export interface Row {
  title: string;
  servicePerSecond: number;
  /** Of the service's answers in milliseconds; null where a row is not about answers. */
  p50: number | null;
  p99: number | null;
  nakedPerSecond: number;
  /** The share of the naked pipeline's rate that the service keeps. */
  kept: number;
}

/** A line of the second table; null where it was not measured. */
export interface Figure {
  title: string;
  service: number | null;
  naked: number | null;
  digits: number;
}

interface RowRecipe {
  id: RowId;
  title: string;
  load: LoadId;
  perSecond: Record<'service' | 'naked', (measured: Measured) => number>;
  hasLatencies: boolean;
}

const answered = ({ answered, answeredMs }: Measured) => perSecond(answered, answeredMs);
const completed = ({ answered, completedMs }: Measured) => perSecond(answered, completedMs);
const both = (measure: (measured: Measured) => number) => ({ service: measure, naked: measure });

const recipes: readonly RowRecipe[] = [
  {
    id: 'create',
    title: 'create, `Prefer: respond-async`',
    load: 'create',
    perSecond: both(answered),
    hasLatencies: true,
  },
  {
    id: 'key',
    title: 'create with `Idempotency-Key`',
    load: 'key',
    perSecond: both(answered),
    hasLatencies: true,
  },
  {
    id: 'new',
    title: 'create, payment not seen before',
    load: 'new',
    perSecond: both(answered),
    hasLatencies: true,
  },
  {
    id: 'wait',
    title: 'create and wait for the verdict',
    load: 'wait',
    // The naked pipeline has no waiting, so that its completions are compared.
    perSecond: { service: answered, naked: completed },
    hasLatencies: true,
  },
  {
    id: 'completed',
    title: 'created and completed',
    load: 'create',
    perSecond: both(completed),
    hasLatencies: false,
  },
  { id: 'get', title: 'get', load: 'get', perSecond: both(answered), hasLatencies: true },
  { id: 'list', title: 'list of 25', load: 'list', perSecond: both(answered), hasLatencies: true },
];

/** The loads that rows need, each once. */
export function loadsFor(rows: readonly RowId[]): LoadId[] {
  return [...new Set(recipes.filter(({ id }) => rows.includes(id)).map(({ load }) => load))];
}

export function buildRows(asked: readonly RowId[], measured: MeasuredLoads): Row[] {
  return recipes.flatMap(({ id, title, load, perSecond, hasLatencies }) => {
    const pair = measured.get(load);
    if (pair === undefined || !asked.includes(id)) return [];
    const latencies = hasLatencies ? pair.service.latencies : [];
    const servicePerSecond = perSecond.service(pair.service);
    const nakedPerSecond = perSecond.naked(pair.naked);
    return {
      title,
      servicePerSecond,
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      nakedPerSecond,
      kept: servicePerSecond / nakedPerSecond,
    };
  });
}

export function warningsOf(measured: MeasuredLoads): string[] {
  return [...measured].flatMap(([load, pair]) =>
    Object.entries(pair)
      .filter(([, { failures }]) => failures > 0)
      .map(
        ([name, { failures, firstFailure }]) =>
          `${load}, ${name}: ${failures} requests failed and do not count. The first: ${firstFailure}`,
      ),
  );
}

/** @returns null when there are no values. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

function perSecond(count: number, ms: number): number {
  return (count / ms) * 1000;
}

/** The results as Markdown. */
export function report(results: readonly QueueResult[], options: BenchOptions): string {
  return [conditions(options), ...results.map(section)].join('\n\n');
}

function conditions({ seconds, rounds, connections, settleMs, webhooks, preload }: BenchOptions): string {
  const [cpu] = cpus();
  const parts = [
    `${rounds} rounds of ${seconds} s per row and pipeline, ${connections} connections`,
    settleMs === 0 ? 'refunds settle in the answer' : `refunds settle after ${settleMs} ms`,
    ...(webhooks ? ['with webhooks of the processor'] : []),
    ...(preload === null ? [] : [`${preload.toLocaleString('en')} refunds before the run`]),
    `Node ${process.version}, ${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'})`,
  ];
  return `${parts.join('; ')}.`;
}

function section({ queue, rows, figures, tables, warnings }: QueueResult): string {
  const parts = [
    `### Queue on ${queue === 'redis' ? 'Redis' : 'PostgreSQL'}`,
    ...(rows.length === 0 ? [] : [rowTable(rows)]),
    figureTable(figures),
    ...(tables === null ? [] : [sizeTable(tables)]),
    ...warnings.map((warning) => `*** ${warning}`),
  ];
  return parts.join('\n\n');
}

function rowTable(rows: readonly Row[]): string {
  return table(
    ['', 'service/s', 'p50 ms', 'p99 ms', 'naked/s', 'kept'],
    rows.map((row) => [
      row.title,
      number(row.servicePerSecond),
      number(row.p50, 1),
      number(row.p99, 1),
      number(row.nakedPerSecond),
      number(row.kept, 2),
    ]),
  );
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

function sizeTable(tables: readonly TableSize[]): string {
  return table(
    ["the service's tables", 'rows', 'table MB', 'indexes MB', 'updates', 'HOT'],
    tables.map(({ name, rows, tableBytes, indexBytes, updates, hotUpdates }) => [
      name,
      number(rows),
      number(tableBytes / 1e6, 1),
      number(indexBytes / 1e6, 1),
      number(updates),
      updates === 0 ? '-' : `${number((hotUpdates / updates) * 100)} %`,
    ]),
  );
}

function number(value: number | null, digits = 0): string {
  if (value === null) return '-';
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
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
