import { parseArgs } from 'node:util';
import { compileService, removeCompiled } from '../../support/processes/compiled-service.ts';
import { findRedisServer } from '../../support/stores/redis.ts';
import { queueNames, runChaos } from './run-chaos.ts';
import { hasPassed, problemLines, verdictLine } from './verdict.ts';

// `npm run chaos`: real processes, killed and frozen at random under load; exit code 0 when no promise was broken.

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
const queues =
  queueNames.find((name) => name === values.queues) ?? refuse(`--queues is ${queueNames.join(' or ')}`);
if (queues === 'redis' && findRedisServer() === null) {
  refuse('There is no redis-server on PATH. Install it, or do without: npm run chaos -- --queues postgres');
}

/** So many problems are told in full; there may be thousands. */
const mostTold = 30;

const compiledFolder = await compileService();
const { verdict, keptIn } = await runChaos({
  seed,
  refunds,
  queues,
  compiledFolder,
  say: values.verbose ? (line) => console.log(line) : () => {},
}).finally(() => removeCompiled(compiledFolder));
for (const line of problemLines(verdict).slice(0, mostTold)) console.log(line);
if (keptIn.length > 0) console.log(`Logs and data are kept in ${keptIn.join(' and ')}`);
console.log(verdictLine(verdict));
process.exit(hasPassed(verdict) ? 0 : 1);

function wholeNumber(name: string, text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : refuse(`--${name} has to be a whole number, not ${text}`);
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}
