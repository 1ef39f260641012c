import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, Redis } from 'ioredis';
import { startProgram } from '../processes/child-process.ts';
import { freePort, freePorts } from '../processes/free-port.ts';
import { waitFor } from '../wait-for.ts';

export interface RedisOptions {
  /** `redis-server` by default. */
  program?: string;
  /** A free one by default. */
  port?: number;
  /** Further arguments of redis-server. */
  args?: string[];
}

export interface RunningRedis {
  url: string;
  port: number;
  pid: number;
  /** Kills the server and waits until it has ended. */
  stop(): Promise<unknown>;
}

export interface RunningRedisCluster {
  /** Of the first node; a client learns the others from it. */
  url: string;
  nodes: RunningRedis[];
  stop(): Promise<void>;
}

/** The version of the redis-server on PATH, or of another program like it, or null when there is none. */
export function findRedisServer(program = 'redis-server'): string | null {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return status === 0 ? (/v=(\S+)/.exec(stdout)?.[1] ?? 'unknown') : null;
}

/**
 * Starts redis-server on 127.0.0.1, which keeps nothing. It ends with this process at the latest.
 * @throws Error with the server's log when it does not start.
 */
export async function startRedis(options: RedisOptions = {}): Promise<RunningRedis> {
  const port = options.port ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), 'refund-redis-'));
  const args = [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    // Required by BullMQ: a queue must not lose keys when memory is short.
    ...['--maxmemory-policy', 'noeviction', '--appendonly', 'no', ...(options.args ?? [])],
  ];
  const { program = 'redis-server' } = options;
  const server = startProgram(program, program, args, { isDetached: true, folder });
  await server.waitForOutput(/eady to accept connections/);
  return { url: `redis://127.0.0.1:${port}`, port, pid: server.pid, stop: server.kill9 };
}

/** Starts three masters that share the slots of one cluster; if asked for, each with a replica that takes over from it. */
export async function startRedisCluster({ hasReplicas = false } = {}): Promise<RunningRedisCluster> {
  const nodeCount = hasReplicas ? 2 * masters : masters;
  const ports = await freePorts(2 * nodeCount);
  // The default cluster port is 10000 higher, which may exceed the range.
  const pairs = Array.from(
    { length: nodeCount },
    (_, at) => [ports[2 * at] ?? 0, ports[2 * at + 1] ?? 0] as const,
  );
  const nodes = await Promise.all(
    pairs.map(([port, busPort]) =>
      startRedis({
        port,
        args: [
          ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
          ...['--cluster-node-timeout', '2000', '--repl-diskless-sync-delay', '0'],
        ],
      }),
    ),
  );
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    await joinNodes(pairs);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: nodes[0]?.url ?? '', nodes, stop };
}

const masters = 3;
const slotCount = 16_384;

async function joinNodes(pairs: readonly (readonly [port: number, busPort: number])[]): Promise<void> {
  const clients = pairs.map(([port]) => new Redis({ host: '127.0.0.1', port }));
  const untilAll = (what: string, isReached: (client: Redis) => Promise<boolean>) =>
    waitFor(`every node of the Redis cluster to ${what}`, async () =>
      (await Promise.all(clients.map(isReached))).every(Boolean),
    );
  try {
    for (const [index, client] of clients.entries()) {
      const share = (part: number) => Math.floor((slotCount * part) / masters);
      if (index < masters) await client.call('CLUSTER', 'ADDSLOTSRANGE', share(index), share(index + 1) - 1);
      for (const [port, busPort] of pairs) await client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
    }
    await untilAll('know the others', async (client) =>
      String(await client.cluster('INFO')).includes(`cluster_known_nodes:${clients.length}`),
    );
    for (const [index, replica] of clients.slice(masters).entries()) {
      await replica.call('CLUSTER', 'REPLICATE', (await clients[index]?.call('CLUSTER', 'MYID')) as string);
    }
    await untilAll('know all slots', async (client) =>
      String(await client.cluster('INFO')).includes('cluster_state:ok'),
    );
    await waitFor('the replicas', async () => {
      const infos = await Promise.all(clients.slice(masters).map((replica) => replica.info('replication')));
      return infos.every((info) => info.includes('master_link_status:up'));
    });
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** The port of the node of a cluster that has the queues. @param prefix QUEUE_PREFIX. */
export async function portOfQueues(redisUrl: string, prefix: string): Promise<number | undefined> {
  const redis = new Cluster(redisUrl.split(','));
  try {
    const slot = await redis.cluster('KEYSLOT', `{${prefix}}`);
    const ranges = await redis.cluster('SLOTS');
    const [, , master] = ranges.find(([first, last]) => first <= slot && slot <= last) ?? [];
    return master?.[1];
  } finally {
    redis.disconnect();
  }
}
