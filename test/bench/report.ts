import { cpus } from 'node:os';
import type { BenchOptions } from './options.ts';
import type { TableSize } from './resources.ts';
import type { Figure, QueueResult, Row } from './results.ts';

/** Writes what was measured as Markdown. */
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
