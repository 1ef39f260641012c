import { expect, inject, onTestFinished, test } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { allComplete, create } from '../../support/faults/refunds.ts';
import { newPayment } from '../../support/refunds/payments.ts';
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
const refusals: readonly [string, string, (command: RedisCommand) => boolean, RegExp][] = [
  ['that it is full', full, isWrite, /is full/],
  ['to everything that it is full', full, everything, /is full/],
  ['that it cannot save', 'MISCONF Redis is unable to persist to disk.', isWrite, /cannot save/],
  ['as a replica', "READONLY You can't write against a read only replica.", isWrite, /read-only replica/],
  ['that the password is missing', 'NOAUTH Authentication required.', everything, /password/],
  ['that a right is missing', "NOPERM this user can't run the 'evalsha' command", isWrite, /lacks a right/],
  ['that it is loading', 'LOADING Redis is loading the dataset in memory', everything, /loading/],
  ['as a sentinel', "ERR unknown command 'evalsha'", isUnknownToSentinels, /sentinel/],
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
  ['are no cluster', 'ERR This instance has cluster support disabled', /no Redis Cluster/],
  ['cannot be reached at the start', null, /No address in REDIS_URL/],
])('with several addresses that %s, refunds complete, and it is named', async (_what, refusal, named) => {
  const redis = await startRefusingRedis(({ name }) => (name === 'cluster' ? refusal : null));
  if (refusal === null) await redis.close();
  else onTestFinished(() => redis.close());
  await completesWithout(`${redis.url},${redis.url}`, named);
});

/** Completes a refund per processor while the queue's store serves nobody, and stops. */
async function completesWithout(redisUrl: string, named: RegExp): Promise<void> {
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
    const { status } = await create(service, await newPayment(service, { processor }));
    expect(status).toBe(200);
  }
  await allComplete(service);
  const ready = await service.call('GET', '/readyz');
  expect(ready).toMatchObject({ status: 200, body: { status: 'degraded', queue: 'down' } });
  await waitFor('the log to name it', () => lines.some((line) => named.test(line)));
}

test.skipIf(inject('redisUrl') === null)('a Redis user without dangerous commands is enough', async () => {
  const user = 'user app on nopass ~* &* +@all -@dangerous';
  const redis = await startRedis({ args: user.split(' ').map((each, at) => (at === 0 ? '--user' : each)) });
  onTestFinished(async () => void (await redis.stop()));
  const redisUrl = redis.url.replace('redis://', 'redis://app:any@');
  const service = await startService({ databaseUrl: databaseUrl(), backend: { name: 'redis', redisUrl } });
  onTestFinished(() => service.close());
  await service.sandbox.settings({ autoSettleMs: 100 });
  await create(service, await newPayment(service, { processor: 'stripe' }));
  await allComplete(service);
  await waitFor('the queue', async () => (await service.call('GET', '/readyz')).body.queue === 'up');
});
