import type { Measured, MeasuredLoads } from './measure.ts';
import type { QueueKind, RowId } from './options.ts';
import type { LoadId } from './requests.ts';
import type { TableSize } from './resources.ts';

/** What a run with one kind of queue came to. */
export interface QueueResult {
  queue: QueueKind;
  rows: Row[];
  figures: Figure[];
  /** Of the service; null without --preload. */
  tables: TableSize[] | null;
  /** What keeps the numbers from being taken at their word. */
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
    // Nobody can wait at the naked pipeline, so what it creates and completes stands against it.
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
          `${load}, ${name}: ${failures} requests were not answered with 200 and do not count; the first: ${firstFailure}`,
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
