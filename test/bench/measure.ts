import { readStatementCount, untilQuiet } from './figures.ts';
import { type LoadResult, runLoad } from './load.ts';
import type { BenchOptions } from './options.ts';
import type { Pipeline } from './pipelines.ts';
import { drain, type LoadId } from './requests.ts';

/** The results of a load, over all rounds. */
export interface Measured {
  answered: number;
  answeredMs: number;
  latencies: number[];
  failures: number;
  firstFailure: string | null;
  /** From the first creation to the last completion; 0 for loads that only read. */
  completedMs: number;
  statements: number;
}

export type MeasuredLoads = Map<LoadId, Record<Pipeline['name'], Measured>>;

export interface MeasureOptions {
  pipelines: readonly Pipeline[];
  loads: readonly LoadId[];
  options: BenchOptions;
  say: (line: string) => void;
}

/** Runs every load against both pipelines in turn, so that other work of the machine slows down both. */
export async function measureLoads(measuring: MeasureOptions): Promise<MeasuredLoads> {
  const { pipelines, loads, options, say } = measuring;
  await warmUp(measuring);
  const measured: MeasuredLoads = new Map();
  for (let round = 0; round < options.rounds; round += 1) {
    // The order alternates, because the first pipeline leaves work for the machine behind.
    const order = round % 2 === 0 ? pipelines : pipelines.toReversed();
    for (const load of loads) {
      for (const pipeline of order) {
        const result = await runOnce(pipeline, load, options, options.seconds);
        const both = measured.get(load) ?? { service: nothing(), naked: nothing() };
        measured.set(load, { ...both, [pipeline.name]: sum(both[pipeline.name], result) });
        const perSecond = Math.round((result.answered / result.answeredMs) * 1000);
        say(`round ${round + 1}: ${load} ${pipeline.name} ${perSecond}/s`);
      }
    }
  }
  return measured;
}

/** Lets V8 compile what long-running processes have compiled, and creates refunds to read. */
async function warmUp({ pipelines, loads, options }: MeasureOptions): Promise<void> {
  for (const pipeline of pipelines)
    await runOnce(pipeline, 'create', options, Math.min(8, 2 * options.seconds));
  for (const load of loads) {
    for (const pipeline of pipelines) await runOnce(pipeline, load, options, Math.min(2, options.seconds));
  }
}

async function runOnce(
  pipeline: Pipeline,
  load: LoadId,
  { connections, webhooks }: BenchOptions,
  seconds: number,
): Promise<Measured> {
  const isReading = load === 'get' || load === 'list';
  const { requests, url } = pipeline;
  const before = await readStatementCount(pipeline);
  const startedAt = performance.now();
  const result = await runLoad({
    url,
    connections,
    seconds,
    next: () => requests.next(load),
    ...(isReading ? {} : { onBody: (body: string) => requests.remember(body) }),
  });
  if (!isReading) await drain(pipeline);
  const completedMs = isReading ? 0 : performance.now() - startedAt;
  if (webhooks) await untilQuiet(pipeline);
  const statements = (await readStatementCount(pipeline)) - before;
  return { ...ofLoad(result), completedMs, statements };
}

function ofLoad({ latencies, elapsedMs, failures, firstFailure }: LoadResult) {
  return { answered: latencies.length, answeredMs: elapsedMs, latencies, failures, firstFailure };
}

function nothing(): Measured {
  const load = ofLoad({ latencies: [], elapsedMs: 0, failures: 0, firstFailure: null });
  return { ...load, completedMs: 0, statements: 0 };
}

function sum(a: Measured, b: Measured): Measured {
  return {
    answered: a.answered + b.answered,
    answeredMs: a.answeredMs + b.answeredMs,
    latencies: a.latencies.concat(b.latencies),
    failures: a.failures + b.failures,
    firstFailure: a.firstFailure ?? b.firstFailure,
    completedMs: a.completedMs + b.completedMs,
    statements: a.statements + b.statements,
  };
}
