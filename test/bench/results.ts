import { cpus } from 'node:os';
import { type Both, connections, type Measured, total } from './measure.ts';
import type { QueueKind, RowId, Scenario } from './options.ts';
import type { LoadId } from './requests.ts';

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

type Rate = 'answered' | 'completed';

/** A load, and its rates. `completed` counts refunds from the first creation to the last completion. */
interface RowRecipe {
  title: string;
  load: LoadId;
  service?: Rate;
  naked?: Rate;
}

const recipes: Readonly<Partial<Record<RowId, RowRecipe>>> = {
  create: { title: 'create, `Prefer: respond-async`', load: 'create' },
  key: { title: 'create with `Idempotency-Key`', load: 'key' },
  new: { title: 'create, payment not seen before', load: 'new' },
  // The naked pipeline has no waiting, so that its completions are compared.
  wait: { title: 'create and wait for the verdict', load: 'wait', naked: 'completed' },
  completed: { title: 'created and completed', load: 'create', service: 'completed', naked: 'completed' },
  get: { title: 'get', load: 'get' },
  list: { title: 'list of 25', load: 'list' },
};

/** The loads that rows need, each once. */
export function loadsFor(rows: readonly RowId[]): LoadId[] {
  return [...new Set(rows.flatMap((row) => recipes[row]?.load ?? []))];
}

export function buildRows(rows: readonly RowId[], measured: Map<LoadId, Both<Measured>>): Row[] {
  return rows.flatMap((row) => {
    const recipe = recipes[row];
    const pair = recipe && measured.get(recipe.load);
    return recipe && pair ? buildRow(pair, recipe) : [];
  });
}

function buildRow({ service, naked }: Both<Measured>, recipe: RowRecipe): Row {
  const rate = (measured: Measured, of: Rate = 'answered') =>
    (measured.answered / measured[`${of}Ms`]) * 1000;
  const isOfAnswers = recipe.service !== 'completed';
  return {
    title: recipe.title,
    servicePerSecond: rate(service, recipe.service),
    p50: isOfAnswers ? percentile(service.latencies, 0.5) : null,
    p99: isOfAnswers ? percentile(service.latencies, 0.99) : null,
    nakedPerSecond: rate(naked, recipe.naked),
    refusals: isOfAnswers ? { service: service.refusals, naked: naked.refusals } : null,
  };
}

/** @returns null when there are no values. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** What was measured, with its conditions, as Markdown. */
export function report({ scenario, queue, seconds, rounds }: Conditions, results: Results): string {
  const parts = [
    `### ${scenario.title}, queue on ${queue === 'redis' ? 'Redis' : 'PostgreSQL'}`,
    [
      `${rounds} rounds of ${seconds} s, ${connections} connections`,
      scenario.webhooks
        ? "with the processor's webhooks and one webhook endpoint of the service"
        : 'without webhooks in either direction',
      `Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}).`,
    ].join('; '),
    ...tablesOf(results),
  ];
  return `${parts.join('\n\n')}\n`;
}

function tablesOf({ rows, figures }: Results): string[] {
  const rowTable = table(
    ['', 'service/s', 'p50 ms', 'p99 ms', 'refused', 'naked/s', 'kept'],
    rows.map(({ title, servicePerSecond, p50, p99, refusals, nakedPerSecond }) => [
      title,
      number(servicePerSecond),
      number(p50, 1),
      number(p99, 1),
      number(refusals && total(refusals.service)),
      number(nakedPerSecond),
      number(servicePerSecond / nakedPerSecond, 2),
    ]),
  );
  const figureTable = table(
    ['', 'service', 'naked'],
    figures.map(({ title, service, naked, digits }) => [
      title,
      number(service, digits),
      number(naked, digits),
    ]),
  );
  return [...(rows.length === 0 ? [] : [rowTable]), ...rows.flatMap(refusalsOf), figureTable];
}

/** Which answers there were instead of 200. */
function refusalsOf({ title, refusals }: Row): string[] {
  return Object.entries(refusals ?? {}).flatMap(([name, counts]) => {
    const kinds = Object.entries(counts).map(([kind, count]) => `${number(count)} with ${kind}`);
    return kinds.length === 0 ? [] : `Refused by the ${name}, ${title}: ${kinds.join(', ')}.`;
  });
}

function number(value: number | null, digits = 0): string {
  if (value === null) return '-';
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The first column is text, the others are numbers. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
