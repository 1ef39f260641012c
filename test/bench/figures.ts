import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../support/stores/database-client.ts';
import { waitFor } from '../support/wait-for.ts';
import type { MeasuredLoads } from './measure.ts';
import type { BenchOptions } from './options.ts';
import { type Pipeline, registerPayment } from './pipelines.ts';
import { createRefund, knownPayments, respondAsync } from './requests.ts';
import { type Figure, percentile } from './results.ts';

/** Enough for a 99th percentile at the default of five seconds. */
const delaysPerSecond = 40;

type Both<T> = Record<Pipeline['name'], T>;

/** Measures what needs no load, and computes the rest from the loads. */
export async function measureFigures(
  pipelines: Both<Pipeline>,
  measured: MeasuredLoads,
  { rows, seconds }: BenchOptions,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  if (rows.includes('statements')) {
    const counts = await forBoth(pipelines, countStatementsPerRefund);
    figures.push({ title: 'statements per refund, one at a time', ...counts, digits: 1 });
    const loads = measured.get('create');
    if (loads !== undefined) {
      const perRefund = ({ name }: Pipeline) => loads[name].statements / loads[name].answered;
      figures.push({
        title: 'statements per refund, under load',
        service: perRefund(pipelines.service),
        naked: perRefund(pipelines.naked),
        digits: 1,
      });
    }
  }
  if (rows.includes('latency')) {
    const count = Math.ceil(delaysPerSecond * seconds);
    const delays = await forBoth(pipelines, (pipeline) => measureDelays(pipeline, count));
    for (const share of [0.5, 0.99]) {
      figures.push({
        title: `request to processor without load, p${share * 100} ms`,
        service: percentile(delays.service, share),
        naked: percentile(delays.naked, share),
        digits: 0,
      });
    }
  }
  return [...figures, ...processFigures(pipelines)];
}

function processFigures({ service, naked }: Both<Pipeline>): Figure[] {
  const memory = (role: 'api' | 'worker'): Figure => ({
    title: `memory of the ${role === 'api' ? 'API' : 'worker'} after the run, MB`,
    service: residentBytes(service[role].pid) / 1e6,
    naked: residentBytes(naked[role].pid) / 1e6,
    digits: 0,
  });
  // The naked API is not compiled, so that its start does not compare.
  const start = { title: 'start of the API to its first answer, ms', naked: null, digits: 0 };
  return [{ ...start, service: service.startUpMs }, memory('api'), memory('worker')];
}

async function forBoth<T>(
  { service, naked }: Both<Pipeline>,
  measure: (pipeline: Pipeline) => Promise<T>,
): Promise<Both<T>> {
  return { service: await measure(service), naked: await measure(naked) };
}

/** The pause between refunds, which are sent one at a time. */
const pauseMs = 50;
const warmUp = 5;
const payment = 'ch_delay';

/**
 * Measures how long refunds take from the request to the processor's acceptance, in whole milliseconds. The sandbox
 * accepts at once, so that the processor adds no time.
 * @returns milliseconds, one entry per refund.
 */
export async function measureDelays(pipeline: Pipeline, count: number): Promise<number[]> {
  const { control } = pipeline.sandbox;
  await registerPayment(control, payment);
  const sentAt = new Map<string, number>();
  for (let n = 0; n < count + warmUp; n += 1) {
    const now = Date.now();
    const id = await createRefund(pipeline, payment, respondAsync);
    if (n >= warmUp) sentAt.set(id, now);
    await sleep(pauseMs);
  }
  const moved = await control.refunds({ processor: 'stripe', transactionId: payment });
  return moved.flatMap(({ key, createdAt }) => {
    const sent = sentAt.get(key);
    return sent === undefined ? [] : [Date.parse(createdAt) - sent];
  });
}

const refunds = 20;
const idleMs = 3_000;
/** The job ends after the refund is completed. */
const afterLastMs = 500;

/**
 * Statements that have reached a pipeline's database, with BEGIN, COMMIT and those of a queue in PostgreSQL, without
 * statements inside of functions and those of the bench.
 */
export async function readStatementCount({ databaseUrl }: Pipeline): Promise<number> {
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

/** Statements per refund from creation to completion, without those that are sent anyway. */
export async function countStatementsPerRefund(pipeline: Pipeline): Promise<number> {
  await untilQuiet(pipeline);
  const idle = await statementsWithin(pipeline, idleMs);
  const before = await readStatementCount(pipeline);
  const startedAt = performance.now();
  for (let n = 0; n < refunds; n += 1) {
    await createRefund(pipeline, knownPayments[n] ?? '', respondAsync);
    await waitFor('the refund to be completed', () => isNothingProcessing(pipeline), { intervalMs: 5 });
  }
  await sleep(afterLastMs);
  const counted = (await readStatementCount(pipeline)) - before;
  return (counted - (idle * (performance.now() - startedAt)) / idleMs) / refunds;
}

const quietMs = 1_000;

/** Waits until the work of a load is done; webhooks of the processor, for example, come after completion. */
export async function untilQuiet(pipeline: Pipeline): Promise<void> {
  const isQuiet = async () => {
    const first = await statementsWithin(pipeline, quietMs);
    const second = await statementsWithin(pipeline, quietMs);
    return Math.abs(first - second) <= 20;
  };
  await waitFor(`the ${pipeline.name} to be quiet`, isQuiet, { timeoutMs: 300_000 });
}

async function statementsWithin(pipeline: Pipeline, ms: number): Promise<number> {
  const before = await readStatementCount(pipeline);
  await sleep(ms);
  return (await readStatementCount(pipeline)) - before;
}

/** With SQL, because a request would itself send statements. */
async function isNothingProcessing({ databaseUrl }: Pipeline): Promise<boolean> {
  const sql = `select /* of the bench */ from refund where status = 'processing' limit 1`;
  return (await query(databaseUrl, sql)).length === 0;
}

/** The memory that a process has in use, in bytes. */
export function residentBytes(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}

export interface TableSize {
  name: string;
  rows: number;
  tableBytes: number;
  indexBytes: number;
  updates: number;
  /** Updates that touched no index. */
  hotUpdates: number;
}

/** Tables that hold something, the largest first, with the updates since the database was made. */
export async function readTableSizes(databaseUrl: string): Promise<TableSize[]> {
  const rows = await query(
    databaseUrl,
    `select case schemaname when 'public' then relname else schemaname || '.' || relname end as name,
       n_live_tup::float8 as rows, pg_table_size(relid)::float8 as "tableBytes",
       pg_indexes_size(relid)::float8 as "indexBytes", n_tup_upd::float8 as updates,
       n_tup_hot_upd::float8 as "hotUpdates"
     from pg_stat_user_tables
     where n_live_tup > 100 or n_tup_upd > 100
     order by pg_total_relation_size(relid) desc`,
  );
  return rows as TableSize[];
}
