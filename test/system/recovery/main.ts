import { parseArgs } from 'node:util';
import { runMain } from '../../../shared/process.ts';
import { compileService, removeCompiled } from '../../support/processes/compiled-service.ts';
import { findRedisServer } from '../../support/stores/redis.ts';
import { measureRecovery, type Scenario } from './measure.ts';

// npm run recovery [-- --queues postgres|redis]: how long refunds take when something breaks, with the settings of
// production. Takes about three minutes for each kind of queue.

type Queues = 'postgres' | 'redis';

runMain(async () => {
  const { values } = parseArgs({ options: { queues: { type: 'string' } } });
  const kinds = ['postgres', 'redis'] as const;
  const asked = kinds.filter((queues) => values.queues === undefined || values.queues === queues);
  const columns = asked.filter((queues) => queues === 'postgres' || hasRedis());
  const measured = new Map<Queues, Map<Scenario, number>>();
  const compiledFolder = await compileService();
  try {
    for (const queues of columns) measured.set(queues, await measureRecovery(queues, compiledFolder));
  } finally {
    removeCompiled(compiledFolder);
  }
  console.log(`\n${table(columns, measured)}`);
});

function hasRedis(): boolean {
  if (findRedisServer() !== null) return true;
  console.log('*** SKIPPED: redis-server is not on PATH, so queues on Redis are not measured.');
  return false;
}

function table(
  columns: readonly Queues[],
  measured: ReadonlyMap<Queues, ReadonlyMap<Scenario, number>>,
): string {
  const scenarios = [...new Set([...measured.values()].flatMap((times) => [...times.keys()]))];
  const cell = (queues: Queues, scenario: Scenario) => {
    const ms = measured.get(queues)?.get(scenario);
    return ms === undefined ? '-' : `${(ms / 1_000).toFixed(1)} s`;
  };
  const rows = scenarios.map((scenario) => [scenario, ...columns.map((queues) => cell(queues, scenario))]);
  const lines = [
    ['what happens', ...columns.map((queues) => `queues on ${queues}`)],
    columns.map(() => '---'),
    ...rows,
  ];
  return lines
    .map((cells, index) => `| ${(index === 1 ? ['---', ...cells] : cells).join(' | ')} |`)
    .join('\n');
}
