import { Redis } from 'ioredis';
import { inject, onTestFinished, test } from 'vitest';
import { failFast, openRedis } from '#shared/platform/redis.ts';
import { startRedis } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

test.skipIf(inject('redisUrl') === null)(
  'a connection to a Redis that has become a replica is opened anew, so that it reaches the new master',
  async () => {
    const server = await startRedis();
    const redis = openRedis({ REDIS_URL: server.url, REDIS_SENTINELS: null }, failFast);
    onTestFinished(async () => {
      redis.disconnect();
      await server.stop();
    });
    // It fails fast: whatever is asked of it before it is connected, again, is refused.
    const connectionId = () => redis.client('ID').catch(() => null);
    const connection = await waitFor('the connection', connectionId);
    const operator = new Redis(server.url);
    onTestFinished(() => operator.disconnect());
    await operator.replicaof('127.0.0.1', 1);
    await waitFor('the refusal of a write', async () => {
      const refusal = await redis.set('key', 'value').catch(String);
      return refusal.includes('READONLY');
    });
    await waitFor('another connection', async () => ![null, connection].includes(await connectionId()));
  },
);
