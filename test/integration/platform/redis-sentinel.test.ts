import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { failFast, openRedis } from '#shared/platform/redis.ts';
import { startProgram } from '../../support/processes/child-process.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { type RedisOptions, startRedis } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const master = 'refunds-master';

async function startServer(options: RedisOptions = {}) {
  const server = await startRedis({
    ...options,
    args: ['--requirepass', 'secret', '--masterauth', 'secret', ...(options.args ?? [])],
  });
  onTestFinished(async () => void (await server.stop()));
  return server;
}

/** @returns its URL. */
async function startSentinel(port: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'refund-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const own = await freePort();
  const lines = [
    ...[`port ${own}`, 'bind 127.0.0.1', `dir ${folder}`, 'requirepass other'],
    ...[`sentinel monitor ${master} 127.0.0.1 ${port} 1`, `sentinel auth-pass ${master} secret`],
  ];
  writeFileSync(file, lines.join('\n'));
  const sentinel = startProgram('redis-sentinel', 'redis-server', [file, '--sentinel'], {
    isDetached: true,
    folder,
  });
  onTestFinished(async () => void (await sentinel.kill9()));
  await sentinel.waitForOutput(/\+monitor master/);
  return `redis://:other@127.0.0.1:${own}`;
}

test.skipIf(inject('redisUrl') === null)(
  'the master that sentinels name is used, also after a failover',
  async () => {
    const first = await startServer();
    const second = await startServer({
      args: ['--replicaof', '127.0.0.1', String(first.port), '--repl-diskless-sync-delay', '0'],
    });
    const sentinels = await startSentinel(first.port);
    const settings = { REDIS_URL: `redis://:secret@${master}`, REDIS_SENTINELS: sentinels };
    const redis = openRedis(settings, { ...failFast, enableOfflineQueue: true });
    redis.on('error', () => {});
    onTestFinished(() => redis.disconnect());
    expect(await redis.set('where', 'first')).toBe('OK');

    const sentinel = new Redis(sentinels);
    onTestFinished(() => sentinel.disconnect());
    await waitFor(
      'the failover',
      async () => (await sentinel.call('SENTINEL', 'FAILOVER', master).catch(() => null)) === 'OK',
    );
    const promoted = new Redis(second.url, { password: 'secret' });
    onTestFinished(() => promoted.disconnect());
    await waitFor('the new master', async () => {
      await redis.set('where', 'second').catch(() => {});
      return (await promoted.role())[0] === 'master' && (await promoted.get('where')) === 'second';
    });
  },
);
