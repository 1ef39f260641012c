import { expect, inject, onTestFinished, test } from 'vitest';
import { failFast, openRedis, readServers } from '#shared/platform/redis.ts';
import { startRedisWithSentinel } from '../../support/stores/redis-sentinel.ts';
import { waitFor } from '../../support/wait-for.ts';

test.skipIf(inject('redisUrl') === null)(
  'the master that sentinels name is used, also after a failover',
  async () => {
    const servers = await startRedisWithSentinel();
    onTestFinished(() => servers.stop());
    const settings = { REDIS_URL: servers.url, REDIS_SENTINELS: servers.sentinels };
    const redis = openRedis(settings, { ...failFast, enableOfflineQueue: true });
    redis.on('error', () => {});
    onTestFinished(() => redis.disconnect());
    expect(await redis.set('where', 'first')).toBe('OK');
    expect(await readServers(redis)).toMatchObject([{ address: 'refunds-master' }]);

    await servers.failOver();
    const promoted = servers.openReplica();
    onTestFinished(() => promoted.disconnect());
    await waitFor('the new master', async () => {
      await redis.set('where', 'second').catch(() => {});
      return (await promoted.role())[0] === 'master' && (await promoted.get('where')) === 'second';
    });
  },
);
