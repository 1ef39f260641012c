import { expect, inject, onTestFinished, test } from 'vitest';
import { failFast, openRedis } from '#shared/platform/queues.ts';
import { startRedis } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

test.skipIf(inject('redisUrl') === null)(
  'a connection to a Redis that has become a replica is opened anew, so that it reaches the new master',
  async () => {
    const server = await startRedis();
    const redis = openRedis(server.url, failFast);
    onTestFinished(async () => {
      redis.disconnect();
      await server.stop();
    });
    const connection = await waitFor('the connection', () => redis.client('ID').catch(() => null));
    await redis.call('REPLICAOF', '127.0.0.1', '1');
    await expect(redis.set('key', 'value')).rejects.toThrow('READONLY');
    await waitFor('another connection', async () => {
      const id = await redis.client('ID').catch(() => connection);
      return id !== connection;
    });
  },
);
