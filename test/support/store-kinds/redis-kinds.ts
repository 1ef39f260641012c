import { randomUUID } from 'node:crypto';
import { inject, onTestFinished } from 'vitest';
import { startTlsFront } from '../http/tls-front.ts';
import { templateDatabase } from '../processes/run-servers.ts';
import { createDatabase } from '../stores/database-client.ts';
import {
  findRedisServer,
  portOfQueues,
  type RedisOptions,
  startRedis,
  startRedisCluster,
} from '../stores/redis.ts';
import { startRedisWithSentinel } from '../stores/redis-sentinel.ts';
import type { StoreKind, Stores } from './kind.ts';

async function withRedis(redisUrl: string, more: Partial<Stores> = {}): Promise<Stores> {
  const databaseUrl = await createDatabase(inject('postgresUrl'), `stores_${randomUUID()}`, {
    template: templateDatabase,
  });
  return { databaseUrl, redisUrl, ...more };
}

async function start(options: RedisOptions = {}) {
  const redis = await startRedis(options);
  onTestFinished(async () => void (await redis.stop()));
  return redis;
}

async function startCluster(options: { hasReplicas: boolean }) {
  const cluster = await startRedisCluster(options);
  onTestFinished(() => cluster.stop());
  return { ...cluster, urls: cluster.nodes.map(({ url }) => url).join(',') };
}

/** @param version how its version begins. */
const plain = (name: string, program: string, version: string): Omit<StoreKind, 'subject'> => ({
  name,
  open: async () =>
    findRedisServer(program)?.startsWith(version) ? withRedis((await start({ program })).url) : null,
});

const withServer = (open: () => Promise<Stores>) => async () => (findRedisServer() === null ? null : open());

const kinds: readonly Omit<StoreKind, 'subject'>[] = [
  plain('Redis 7', 'redis-server', '7.'),
  plain('Redis 8', 'redis-server', '8.'),
  plain('Valkey', 'valkey-server', ''),
  {
    name: 'Redis with a password',
    open: withServer(async () => {
      const { url } = await start({ args: ['--requirepass', 'secret'] });
      return await withRedis(url.replace('redis://', 'redis://:secret@'));
    }),
  },
  {
    name: 'Redis with a user without INFO',
    open: withServer(async () => {
      const rights = ['on', 'nopass', '~*', '&*', '+@all', '-@dangerous'];
      const { url } = await start({ args: ['--user', 'app', ...rights] });
      return await withRedis(url.replace('redis://', 'redis://app:any@'));
    }),
  },
  {
    name: 'Redis over TLS, own authority',
    open: withServer(async () => {
      const front = await startTlsFront((await start()).port);
      return await withRedis(`rediss://localhost:${front.port}`);
    }),
  },
  {
    name: 'Redis with a sentinel, failover',
    open: withServer(async () => {
      const servers = await startRedisWithSentinel();
      onTestFinished(() => servers.stop());
      const settings = { REDIS_SENTINELS: servers.sentinels };
      return await withRedis(servers.url, { settings, disturb: () => servers.failOver() });
    }),
  },
  {
    name: 'Redis Cluster, the node of the queues lost',
    open: withServer(async () => {
      const { urls, nodes } = await startCluster({ hasReplicas: true });
      return await withRedis(urls, {
        async disturb({ settings }) {
          const port = await portOfQueues(urls, settings.QUEUE_PREFIX);
          await nodes.find((node) => node.port === port)?.stop();
        },
      });
    }),
  },
  {
    name: 'Redis Cluster, all down from the start',
    trouble: 'no_node',
    open: withServer(async () => {
      const { urls, stop } = await startCluster({ hasReplicas: false });
      await stop();
      return await withRedis(urls);
    }),
  },
  {
    name: 'Redis, a read-only replica',
    trouble: 'read_only',
    open: withServer(async () => {
      const master = await start();
      const { url } = await start({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
      return await withRedis(url);
    }),
  },
  {
    name: 'Redis, full',
    trouble: 'full',
    open: withServer(async () => withRedis((await start({ args: ['--maxmemory', '1'] })).url)),
  },
  {
    name: 'Redis, evicting',
    trouble: 'evicts',
    open: withServer(async () =>
      withRedis((await start({ args: ['--maxmemory-policy', 'allkeys-lru'] })).url),
    ),
  },
];

export const redisKinds: readonly StoreKind[] = kinds.map((kind) => ({ ...kind, subject: 'Redis' }));
