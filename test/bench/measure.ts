import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../support/stores/database-client.ts';
import { waitFor } from '../support/wait-for.ts';
import { runLoad } from './load.ts';
import type { Pipeline } from './pipelines.ts';
import { processorMs, processorMsWithChildren } from './processor-time.ts';
import { call, drain, type LoadId } from './requests.ts';

/** The results of a load, over all rounds. */
export interface Measured {
  answered: number;
  answeredMs: number;
  latencies: number[];
  /** How many requests were not answered with 200, by status or error. */
  refusals: Record<string, number>;
  /** From the first creation to the last completion; 0 for loads that create nothing. */
  completedMs: number;
  /** Until all work that follows is done. */
  used: Used;
}

/** Statements that reached PostgreSQL, rows that were written, bytes of WAL, and processor time in milliseconds. */
export type Used = Record<
  'statements' | 'rowsWritten' | 'walBytes' | 'api' | 'worker' | 'postgres' | 'sandbox',
  number
>;

export type Both<T> = Record<'service' | 'naked', T>;

export interface MeasureOptions {
  pipelines: Both<Pipeline>;
  loads: readonly LoadId[];
  /** How long each load lasts. */
  seconds: number;
  rounds: number;
  say: (line: string) => void;
}

const names = ['service', 'naked'] as const;

/** Runs every load against the pipelines in turn, so that other work of the machine slows down all. */
export async function measureLoads({
  pipelines,
  loads,
  seconds,
  rounds,
  say,
}: MeasureOptions): Promise<Map<LoadId, Both<Measured>>> {
  // Lets V8 compile what long-running processes have compiled.
  for (const load of loads) {
    for (const name of names) await runRequests(pipelines[name], load, Math.min(2, seconds));
  }
  const measured = new Map(loads.map((load) => [load, { service: nothing, naked: nothing }]));
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, because the first pipeline leaves work for the machine behind.
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const [load, results] of measured) {
      for (const name of order) {
        const result = await runRequests(pipelines[name], load, seconds);
        results[name] = sum(results[name], result);
        const perSecond = Math.round((result.answered / result.answeredMs) * 1000);
        say(`round ${round + 1}: ${load} ${name} ${perSecond}/s, ${total(result.refusals)} refused`);
      }
    }
  }
  return measured;
}

/** Creates or reads refunds, and waits until everything that follows is done. */
export async function runRequests(pipeline: Pipeline, load: LoadId, seconds: number): Promise<Measured> {
  const { requests, url } = pipeline;
  const isReading = load === 'get' || load === 'list';
  const before = await readUsed(pipeline);
  const startedAt = performance.now();
  const { latencies, elapsedMs, refusals } = await runLoad({
    ...{ url, connections, seconds },
    next: () => requests.next(load),
    onBody: (body) => isReading || requests.remember(body),
  });
  if (!isReading) await drain(pipeline);
  const completedMs = isReading ? 0 : performance.now() - startedAt;
  if (!isReading) await untilQuiet(pipeline);
  const used = combine(await readUsed(pipeline), before, (now, then) => now - then);
  return { answered: latencies.length, answeredMs: elapsedMs, latencies, refusals, completedMs, used };
}

export const connections = 64;

const nothing: Measured = {
  ...{ answered: 0, answeredMs: 0, latencies: [], refusals: {}, completedMs: 0 },
  used: { statements: 0, rowsWritten: 0, walBytes: 0, api: 0, worker: 0, postgres: 0, sandbox: 0 },
};

const plus = (a: number, b: number) => a + b;

function sum(a: Measured, b: Measured): Measured {
  return {
    answered: a.answered + b.answered,
    answeredMs: a.answeredMs + b.answeredMs,
    latencies: a.latencies.concat(b.latencies),
    refusals: combine(a.refusals, b.refusals, plus),
    completedMs: a.completedMs + b.completedMs,
    used: combine(a.used, b.used, plus),
  };
}

/** Numbers by name, of two records; a name that one of them lacks is 0 there. */
function combine<Name extends string>(
  a: Record<Name, number>,
  b: Record<Name, number>,
  operation: (a: number, b: number) => number,
): Record<Name, number> {
  const names = Object.keys({ ...a, ...b }) as Name[];
  const values = names.map((name) => [name, operation(a[name] ?? 0, b[name] ?? 0)]);
  return Object.fromEntries(values) as Record<Name, number>;
}

export function total(refusals: Measured['refusals']): number {
  return Object.values(refusals).reduce(plus, 0);
}

async function readUsed(pipeline: Pipeline): Promise<Used> {
  return {
    statements: await readStatementCount(pipeline),
    ...(await readWrites(pipeline)),
    api: processorMs(pipeline.api.pid),
    worker: processorMs(pipeline.worker.pid),
    postgres: processorMsWithChildren(pipeline.postgresPid),
    sandbox: processorMs(pipeline.sandbox.pid),
  };
}

/**
 * Statements that have reached a pipeline's database, with BEGIN, COMMIT and those of a queue in PostgreSQL, without
 * statements inside of functions and those of the bench.
 */
export async function readStatementCount({ databaseUrl }: Pick<Pipeline, 'databaseUrl'>): Promise<number> {
  await query(databaseUrl, 'create extension if not exists pg_stat_statements');
  const rows = await query(
    databaseUrl,
    `select coalesce(sum(calls), 0)::float8 as calls
     from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
       and query !~ 'pg_stat_statements|of the bench'`,
  );
  return rows[0].calls;
}

/** Rows that were written to a pipeline's database, and WAL, which is that of all databases: the pipelines take turns. */
async function readWrites({ databaseUrl }: Pipeline): Promise<Pick<Used, 'rowsWritten' | 'walBytes'>> {
  const [writes] = await query(
    databaseUrl,
    `select (tup_inserted + tup_updated + tup_deleted)::float8 as "rowsWritten",
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes" /* of the bench */
     from pg_stat_database where datname = current_database()`,
  );
  return writes;
}

const quietMs = 1_000;

/** Waits until webhooks in both directions are done, which come after completion. */
async function untilQuiet(pipeline: Pipeline): Promise<void> {
  const isQuiet = async () => {
    const failed = pipeline.sandbox.failures().attempts;
    const first = await statementsWithin(pipeline, quietMs);
    const second = await statementsWithin(pipeline, quietMs);
    const isIdle = Math.abs(first - second) <= 20 && pipeline.sandbox.failures().attempts === failed;
    return isIdle && (await isDelivered(pipeline));
  };
  await waitFor(`the ${pipeline.name} to be quiet`, isQuiet, { timeoutMs: 300_000 });
}

async function isDelivered(pipeline: Pipeline): Promise<boolean> {
  if (pipeline.endpointId === null) return true;
  const path = `/v1/webhook-endpoints/${pipeline.endpointId}/deliveries?status=pending&limit=1`;
  return ((await call(pipeline, path)) as unknown[]).length === 0;
}

async function statementsWithin(pipeline: Pipeline, ms: number): Promise<number> {
  const before = await readStatementCount(pipeline);
  await sleep(ms);
  return (await readStatementCount(pipeline)) - before;
}
