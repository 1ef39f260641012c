import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../support/stores/database-client.ts';
import { waitFor } from '../support/wait-for.ts';
import { loadDueRefunds } from './bulk-load.ts';
import type { ServicePipeline } from './pipelines.ts';
import { type Conditions, number, table } from './results.ts';

const backlog = 50_000;
const latencyMs = 300;
/** WORKER_CONCURRENCY by default. */
const concurrency = 50;
const workersInTurn = [1, 2, 4, 8];

const head = ['workers', 'completed/s', 'possible/s', 'claim, mean ms', 'longest ms', 'processors busy'];

/**
 * Measures how fast workers complete a backlog that tables analyzed while empty did not prepare PostgreSQL for.
 * @returns a table as Markdown.
 */
export async function measureBacklog(
  service: ServicePipeline,
  { seconds, rounds }: Conditions,
  say: (line: string) => void,
): Promise<string> {
  const { databaseUrl, organizationId, sandbox } = service;
  await service.worker.stop();
  await query(databaseUrl, 'analyze');
  await loadDueRefunds(databaseUrl, organizationId, backlog);
  await query(databaseUrl, 'create extension if not exists pg_stat_statements');
  await sandbox.control.settings({ latencyMs });
  const lines: string[][] = [];
  for (const count of workersInTurn) {
    await query(databaseUrl, 'select pg_stat_statements_reset()');
    const workers = Array.from({ length: count }, () => service.startWorker());
    const enough = (await countCompleted(databaseUrl)) + 2 * concurrency * count;
    await waitFor('the workers', async () => (await countCompleted(databaseUrl)) > enough, {
      timeoutMs: 300_000,
    });
    const [before, busyBefore, startedAt] = [
      await countCompleted(databaseUrl),
      readBusy(),
      performance.now(),
    ];
    await sleep(seconds * rounds * 1000);
    const rate = ((await countCompleted(databaseUrl)) - before) / ((performance.now() - startedAt) / 1000);
    const busy = readBusy();
    const claim = await readClaim(databaseUrl);
    await Promise.all(workers.map((worker) => worker.stop()));
    say(`${count} workers: ${Math.round(rate)}/s`);
    lines.push([
      ...[String(count), number(rate), number((count * concurrency * 1000) / latencyMs)],
      ...[number(claim.mean, 1), number(claim.max, 1)],
      `${number(((busy.busy - busyBefore.busy) / (busy.total - busyBefore.total)) * 100)} %`,
    ]);
  }
  return table(head, lines);
}

async function countCompleted(databaseUrl: string): Promise<number> {
  const [row] = await query(
    databaseUrl,
    "select count(*)::int from refund where status = 'completed' /* of the bench */",
  );
  return row.count;
}

/** The time of the statement that takes what is due. */
async function readClaim(databaseUrl: string): Promise<{ mean: number | null; max: number | null }> {
  const [row] = await query(
    databaseUrl,
    `select sum(total_exec_time) / sum(calls) as mean, max(max_exec_time) as max
     from pg_stat_statements where toplevel and query ~* 'claim_due_refunds'`,
  );
  return row;
}

/** Of all processors of the machine, in milliseconds. */
function readBusy(): { busy: number; total: number } {
  const times = cpus().map(({ times: { user, nice, sys, irq, idle } }) => ({
    busy: user + nice + sys + irq,
    idle,
  }));
  const busy = times.reduce((sum, each) => sum + each.busy, 0);
  return { busy, total: times.reduce((sum, each) => sum + each.idle, busy) };
}
