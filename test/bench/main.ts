import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runMain } from '../../shared/process.ts';
import {
  type CompiledService,
  compiledIn,
  compileService,
  removeCompiled,
} from '../support/processes/compiled-service.ts';
import { findRedisServer } from '../support/stores/redis.ts';
import { measureDeliveries } from './deliveries.ts';
import { measureFigures, readTableSizes } from './figures.ts';
import { measureLoads } from './measure.ts';
import { type BenchOptions, parseOptions, type QueueKind } from './options.ts';
import { startNaked, startService, startStores } from './pipelines.ts';
import { requireNoFailure } from './requests.ts';
import { buildRows, loadsFor, type QueueResult, report, warningsOf } from './results.ts';
import { drawSvg } from './svg.ts';

// npm run bench: requests per second of the service, compared with the same work without any safety. docs/performance.md
// explains the tables. They go to stdout, progress to stderr.

const say = (line: string) => process.stderr.write(`${line}\n`);

runMain(async () => {
  const options = parseOptions(process.argv.slice(2));
  const compiledFolder = await compileService();
  try {
    const results: QueueResult[] = [];
    for (const queue of options.queues.filter(isPresent)) {
      results.push(await measureQueue(queue, options, compiledIn(compiledFolder)));
    }
    console.log(report(results, options));
    if (options.svg !== null) writeFileSync(options.svg, drawSvg(results));
  } finally {
    removeCompiled(compiledFolder);
  }
});

function isPresent(queue: QueueKind): boolean {
  if (queue === 'postgres' || findRedisServer() !== null) return true;
  console.log('*** SKIPPED: redis-server is not on PATH, so the queue on Redis is not measured.\n');
  return false;
}

/** Measures one kind of queue with its own stores, sandboxes and processes. */
async function measureQueue(
  queue: QueueKind,
  options: BenchOptions,
  compiled: CompiledService,
): Promise<QueueResult> {
  const teardown: (() => Promise<void> | void)[] = [];
  try {
    const folder = mkdtempSync(join(tmpdir(), 'refund-bench-'));
    chmodSync(folder, 0o711);
    teardown.push(() => rmSync(folder, { recursive: true }));
    const stores = await startStores(queue);
    teardown.push(stores.stop);
    const place = { options, stores, compiled, folder };
    const service = await startService(place);
    teardown.push(service.stop);
    const naked = await startNaked(place);
    teardown.push(naked.stop);

    say(`queue on ${queue}: warming up`);
    const pipelines = [service, naked];
    const loads = loadsFor(options.rows);
    const measured = await measureLoads({ pipelines, loads, options, say });
    const figures = await measureFigures({ service, naked }, measured, options);
    await requireNoFailure(service);
    // Last, because its refunds stay open.
    const deliveries = options.rows.includes('deliveries')
      ? await measureDeliveries(service, options, say)
      : { rows: [], figures: [] };
    return {
      queue,
      rows: [...buildRows(options.rows, measured), ...deliveries.rows],
      figures: [...figures, ...deliveries.figures],
      tables: options.preload === null ? null : await readTableSizes(service.databaseUrl),
      warnings: warningsOf(measured),
    };
  } finally {
    for (const undo of teardown.reverse()) await undo();
  }
}
