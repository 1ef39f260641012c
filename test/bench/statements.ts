import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../support/stores/database-client.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Pipeline } from './pipelines.ts';
import { knownPayments, respondAsync } from './requests.ts';
import { createRefund } from './single-requests.ts';

const refunds = 20;
const idleMs = 3_000;
/** The queue ends its job after the refund is completed. */
const afterLastMs = 500;

/**
 * Statements that have reached a pipeline's database: BEGIN and COMMIT count, statements inside of functions do not, those of
 * the bench itself neither. A queue in PostgreSQL is part of it.
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

/** What one refund costs from creation to completion while nothing else happens; what runs anyway is taken off. */
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

/** Waits until what a load left behind is done: webhooks of the processor, for example, come later than completion. */
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

/** Over SQL, because a request would itself send statements. */
async function isNothingProcessing({ databaseUrl }: Pipeline): Promise<boolean> {
  const sql = `select /* of the bench */ from refund where status = 'processing' limit 1`;
  return (await query(databaseUrl, sql)).length === 0;
}
