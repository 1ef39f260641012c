import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { renderMetrics } from '#shared/health/serve-metrics.ts';
import { loadSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { openQueues } from '#shared/platform/queues.ts';
import { type QueueTrouble, queueTroubles } from '#shared/platform/redis-trouble.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { allComplete } from '../../support/refunds/refund-records.ts';
import { startService } from '../../support/service.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { startRedis } from '../../support/stores/redis.ts';
import { type RedisCommand, startRefusingRedis } from '../../support/stores/refusing-redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const databaseUrl = useDatabase();

/** More than the pauses between failures allow, and fewer than a loop without them sends before a refund completes. */
const mostScripts = 150;

const everything = () => true;
const isWrite = (command: RedisCommand) => command.isWrite;
const isUnknownToSentinels = ({ name }: RedisCommand) => !/^(info|client|ping|auth)$/.test(name);

const full = "OOM command not allowed when used memory > 'maxmemory'.";
const refusals: readonly [string, string, (command: RedisCommand) => boolean, QueueTrouble][] = [
  ['that it is full', full, isWrite, 'full'],
  ['to everything that it is full', full, everything, 'full'],
  ['that it cannot save', 'MISCONF Redis is unable to persist to disk.', isWrite, 'cannot_save'],
  ['as a replica', "READONLY You can't write against a read only replica.", isWrite, 'read_only'],
  ['that the password is missing', 'NOAUTH Authentication required.', everything, 'access_refused'],
  ['that a right is missing', "NOPERM this user can't run the 'evalsha' command", isWrite, 'right_missing'],
  ['that it is loading', 'LOADING Redis is loading the dataset in memory', everything, 'starting'],
  ['as a sentinel', "ERR unknown command 'evalsha'", isUnknownToSentinels, 'no_redis'],
];

test.each(refusals)(
  'with a Redis that answers %s, refunds complete, and it is named and asked with pauses',
  async (_what, refusal, isRefused, named) => {
    const redis = await startRefusingRedis((command) => (isRefused(command) ? refusal : null));
    onTestFinished(() => redis.close());
    await completesWithout(redis.url, named);
    expect(redis.scripts).toBeLessThan(mostScripts);
  },
);

test.each([
  ['are no cluster', 'ERR This instance has cluster support disabled', 'no_cluster'],
  ['cannot be reached at the start', null, 'no_node'],
] as const)(
  'with several addresses that %s, refunds complete, and it is named',
  async (_what, refusal, named) => {
    const redis = await startRefusingRedis(({ name }) => (name === 'cluster' ? refusal : null));
    if (refusal === null) await redis.close();
    else onTestFinished(() => redis.close());
    await completesWithout(`${redis.url},${redis.url}`, named);
  },
);

/** Completes a refund per processor while the queue's store serves nobody, and stops. */
async function completesWithout(redisUrl: string, trouble: QueueTrouble): Promise<void> {
  const lines: string[] = [];
  const log = openLog('warn', 'test', { write: (line) => void lines.push(line) });
  const backend = { name: 'redis' as const, redisUrl };
  const service = await startService({
    databaseUrl: databaseUrl(),
    backend,
    settings: { CREATE_WAIT_MS: 100 },
    log,
  });
  onTestFinished(() => service.close());
  await service.sandbox.settings({ autoSettleMs: 100 });
  for (const processor of PROCESSORS) {
    await newRefund(service, { processor });
  }
  await allComplete(service);
  const ready = await service.call('GET', '/readyz');
  expect(ready).toMatchObject({
    status: 200,
    body: { status: 'degraded', queue: 'down', queueTrouble: trouble },
  });
  expect(await renderMetrics(service.deps, {})).toContain(`refund_queue_trouble{trouble="${trouble}"} 1`);
  await waitFor('the log to name it', () => lines.some((line) => line.includes(queueTroubles[trouble])));
}

test.skipIf(inject('redisUrl') === null)('a Redis user without dangerous commands is enough', async () => {
  const user = 'user app on nopass ~* &* +@all -@dangerous';
  const redis = await startRedis({ args: user.split(' ').map((each, at) => (at === 0 ? '--user' : each)) });
  onTestFinished(async () => void (await redis.stop()));
  const redisUrl = redis.url.replace('redis://', 'redis://app:any@');
  const service = await startService({ databaseUrl: databaseUrl(), backend: { name: 'redis', redisUrl } });
  onTestFinished(() => service.close());
  await service.sandbox.settings({ autoSettleMs: 100 });
  await newRefund(service);
  await allComplete(service);
  await waitFor('the queue', async () => (await service.call('GET', '/readyz')).body.queue === 'up');
});

test.skipIf(inject('redisUrl') === null)(
  'a Redis that evicts, or that another installation shares, is named',
  async () => {
    const redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    onTestFinished(async () => void (await redis.stop()));
    const newKey = () => randomBytes(32).toString('base64');
    const settings = { ...loadSettings({}), REDIS_URL: redis.url };
    const checkOf = (key: string, ...previous: string[]) => {
      const own = { ...settings, ENCRYPTION_KEY: key, ENCRYPTION_PREVIOUS_KEYS: previous };
      const queues = openQueues(own, ['stripe'], openLog('silent', 'test'));
      onTestFinished(() => queues.close());
      return queues.check();
    };
    const [ours, next, others] = [newKey(), newKey(), newKey()];
    expect(await checkOf(ours)).toBe('evicts');
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    client.disconnect();
    expect([await checkOf(ours), await checkOf(next, ours), await checkOf(ours, next)]).toEqual([
      null,
      null,
      null,
    ]);
    expect([await checkOf(others), await checkOf(ours)]).toEqual(['shared_prefix', 'shared_prefix']);
  },
);
