import { parseArgs } from 'node:util';
import { compileService, removeCompiled } from '../../support/processes/compiled-service.ts';
import { findRedisServer } from '../../support/stores/redis.ts';
import { runChaos } from './run-chaos.ts';
import { hasPassed, problemLines, verdictLine } from './verdict.ts';

// npm run chaos: kills and freezes real processes and stores at random under load. Exits with 0 when every promise held.

const { values } = parseArgs({
  options: {
    refunds: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    queues: { type: 'string', default: 'redis' },
    verbose: { type: 'boolean', default: false },
  },
});
const refunds = wholeNumber('refunds', values.refunds);
const seed = wholeNumber('seed', values.seed);
const { queues } = values;
if (queues !== 'redis' && queues !== 'postgres') refuse('--queues must be redis or postgres.');
if (queues === 'redis' && findRedisServer() === null) {
  refuse('redis-server is not on PATH. Install it, or run: npm run chaos -- --queues postgres');
}

/** There may be thousands of problems. */
const mostPrinted = 30;

const compiledFolder = await compileService();
const { verdict, keptIn } = await runChaos({
  seed,
  refunds,
  queues,
  compiledFolder,
  say: values.verbose ? (line) => console.log(line) : () => {},
}).finally(() => removeCompiled(compiledFolder));
for (const line of problemLines(verdict).slice(0, mostPrinted)) console.log(line);
if (keptIn.length > 0) console.log(`Logs and data are kept in ${keptIn.join(' and ')}.`);
console.log(verdictLine(verdict));
process.exit(hasPassed(verdict) ? 0 : 1);

function wholeNumber(name: string, text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : refuse(`--${name} must be a whole number, not ${text}.`);
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}
