import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runMain } from '#shared/platform/process.ts';
import {
  type CompiledService,
  compiledIn,
  compileService,
  removeCompiled,
} from '../support/processes/compiled-service.ts';
import { findRedisServer } from '../support/stores/redis.ts';
import { measureDeliveries } from './deliveries.ts';
import { costsOf, measureDelay, processFigures } from './figures.ts';
import { measureLoads, runRequests } from './measure.ts';
import { parseOptions, type QueueKind, type RowId } from './options.ts';
import {
  type Pipeline,
  type Place,
  type ServicePipeline,
  startNaked,
  startService,
  startStores,
} from './pipelines.ts';
import { requireNoFailure } from './requests.ts';
import { buildRows, type Conditions, loadsFor, type Results, report } from './results.ts';

// npm run bench: requests per second of the service, compared with the same work without any safety. docs/performance.md
// explains the tables. They go to stdout, progress to stderr.

const say = (line: string) => process.stderr.write(`${line}\n`);

runMain(async () => {
  const { scenarios, queues, rows, ...options } = parseOptions(process.argv.slice(2));
  const compiledFolder = await compileService();
  try {
    const present = queues.filter(isPresent);
    for (const scenario of scenarios) {
      const seconds = options.seconds ?? scenario.seconds;
      const rounds = options.rounds ?? scenario.rounds;
      for (const queue of scenario.isFurther ? present.slice(0, 1) : present) {
        const conditions = { scenario, queue, seconds, rounds };
        console.log(report(conditions, await measure(conditions, rows, compiledIn(compiledFolder))));
      }
    }
  } finally {
    removeCompiled(compiledFolder);
  }
});

function isPresent(queue: QueueKind): boolean {
  if (queue === 'postgres' || findRedisServer() !== null) return true;
  console.log('*** SKIPPED: redis-server is not on PATH, so the queue on Redis is not measured.\n');
  return false;
}

/** Measures a scenario with stores, sandboxes and processes of its own. */
async function measure(
  conditions: Conditions,
  asked: readonly RowId[],
  compiled: CompiledService,
): Promise<Results> {
  const { scenario, queue } = conditions;
  const teardown: Place['teardown'] = [];
  try {
    const folder = mkdtempSync(join(tmpdir(), 'refund-bench-'));
    chmodSync(folder, 0o711);
    teardown.push(() => rmSync(folder, { recursive: true }));
    const stores = await startStores(conditions, teardown);
    const place = { scenario, ...stores, compiled, folder, teardown };
    say(`${scenario.title}, queue on ${queue}`);
    const pipelines = { service: await startService(place), naked: await startNaked(place) };
    const rows = scenario.rows.filter((row) => asked.includes(row));
    return await measureRows(pipelines, rows, conditions);
  } finally {
    for (const undo of teardown.reverse()) await undo();
  }
}

async function measureRows(
  pipelines: { service: ServicePipeline; naked: Pipeline },
  asked: readonly RowId[],
  conditions: Conditions,
): Promise<Results> {
  const { service, naked } = pipelines;
  const { seconds } = conditions;
  // Compiles what long-running processes have compiled, and creates refunds to read.
  for (const pipeline of [service, naked]) {
    await runRequests(pipeline, 'create', Math.min(8, 2 * seconds));
  }
  const measured = await measureLoads({ ...{ pipelines, loads: loadsFor(asked), ...conditions, say } });
  const created = measured.get('create');
  const figures = [
    ...(created === undefined ? [] : costsOf(created)),
    ...(asked.includes('delay') ? await measureDelay(pipelines, seconds) : []),
    ...processFigures(pipelines),
  ];
  await requireNoFailure(service);
  const rows = buildRows(asked, measured);
  if (!asked.includes('deliveries')) return { rows, figures };
  // Last, because its refunds stay open.
  const deliveries = await measureDeliveries(service, conditions, say);
  return { rows: [...rows, ...deliveries.rows], figures: [...figures, ...deliveries.figures] };
}
