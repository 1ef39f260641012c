import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startProgram } from '../processes/child-process.ts';
import { freePort } from '../processes/free-port.ts';
import { waitFor } from '../wait-for.ts';
import { type RunningRedis, startRedis } from './redis.ts';

const master = 'refunds-master';
const password = 'secret';
const access = ['--requirepass', password, '--masterauth', password];

/** A Redis with a replica, and a sentinel that makes the replica the master on request. */
export interface RedisWithSentinel {
  /** REDIS_URL. */
  url: string;
  /** REDIS_SENTINELS. */
  sentinels: string;
  /** That which becomes the master, opened as a client. */
  openReplica(): Redis;
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedisWithSentinel(): Promise<RedisWithSentinel> {
  const first = await startRedis({ args: access });
  const replicaOf = ['--replicaof', '127.0.0.1', String(first.port), '--repl-diskless-sync-delay', '0'];
  const second = await startRedis({ args: [...access, ...replicaOf] });
  const sentinel = await startSentinel(first);
  return {
    url: `redis://:${password}@${master}`,
    sentinels: sentinel.url,
    openReplica: () => new Redis(second.url, { password }),
    async failOver() {
      const client = new Redis(sentinel.url);
      const begin = () => client.call('SENTINEL', 'FAILOVER', master).catch(() => null);
      await waitFor('the failover', async () => (await begin()) === 'OK');
      client.disconnect();
    },
    async stop() {
      await Promise.all([sentinel.stop(), first.stop(), second.stop()]);
    },
  };
}

async function startSentinel({ port }: RunningRedis): Promise<Pick<RunningRedis, 'url' | 'stop'>> {
  const folder = mkdtempSync(join(tmpdir(), 'refund-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const own = await freePort();
  const lines = [
    ...[`port ${own}`, 'bind 127.0.0.1', `dir ${folder}`, 'requirepass other'],
    ...[`sentinel monitor ${master} 127.0.0.1 ${port} 1`, `sentinel auth-pass ${master} ${password}`],
  ];
  writeFileSync(file, lines.join('\n'));
  const sentinel = startProgram('redis-sentinel', 'redis-server', [file, '--sentinel'], {
    isDetached: true,
    folder,
  });
  await sentinel.waitForOutput(/\+monitor master/);
  return { url: `redis://:other@127.0.0.1:${own}`, stop: sentinel.kill9 };
}
