import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Settings } from './config.ts';

/** For connections that a request waits for: fail within a second while Redis is unreachable. */
export const failFast: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  connectTimeout: 1_000,
  commandTimeout: 1_000,
};

type RedisSettings = Pick<Settings, 'REDIS_URL' | 'REDIS_SENTINELS'>;

/**
 * Opens Redis; a Redis Cluster when REDIS_URL lists several nodes, `redis://a:6379,redis://b:6379`; or the master that the sentinels name,
 * whose name is the host in REDIS_URL.
 */
export function openRedis(
  { REDIS_URL, REDIS_SENTINELS }: RedisSettings,
  options: RedisOptions,
): Redis | Cluster {
  const nodes = addressesIn(REDIS_URL ?? '');
  const [first = ''] = nodes;
  const single = { ...options, reconnectOnError: isDemoted };
  if (REDIS_SENTINELS !== null) return new Redis({ ...single, ...behindSentinels(REDIS_SENTINELS, first) });
  if (nodes.length === 1) return new Redis(first, single);
  const redisOptions = { ...options, ...accessIn(first) };
  return new Cluster(nodes, {
    redisOptions,
    enableOfflineQueue: options.enableOfflineQueue ?? true,
    // A certificate names hosts, and Node compares it with the address that was connected to: names are left to the connection.
    ...(redisOptions.tls && { dnsLookup: (host, done) => done(null, host) }),
  });
}

const addressesIn = (list: string) => list.split(',').map((address) => address.trim());

function behindSentinels(sentinels: string, master: string): RedisOptions {
  const addresses = addressesIn(sentinels);
  const { username, password, tls } = accessIn(addresses[0] ?? '');
  return {
    ...accessIn(master),
    name: new URL(master).hostname,
    sentinels: addresses.map((address) => {
      const { hostname, port } = new URL(address);
      return { host: hostname, port: Number(port || 26_379) };
    }),
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(tls === undefined ? {} : { sentinelTLS: tls }),
    enableTLSForSentinelMode: new URL(master).protocol === 'rediss:',
  };
}

/** User, password and TLS as the URL says. */
function accessIn(url: string): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  const { password, username, protocol } = new URL(url);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

/** After a failover the former master, now a replica, keeps its connections, and refuses what they write. */
function isDemoted({ message }: Error): boolean {
  return message.startsWith('READONLY ');
}

/** What a server says of itself; null for what its user may not ask for. */
export interface RedisServer {
  /** Host and port, or the name of the master that sentinels know it by. */
  address: string;
  version: string | null;
  isReplica: boolean;
  /** `noeviction`, or how keys are chosen that it removes when it is full. */
  evictionPolicy: string | null;
  usedBytes: number;
  /** 0 for no limit. */
  mostBytes: number;
}

/** Asks the server, or the masters of a cluster. */
export async function readServers(redis: Redis | Cluster): Promise<RedisServer[]> {
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis];
  return await Promise.all(servers.map(readServer));
}

async function readServer(redis: Redis): Promise<RedisServer> {
  const info = await redis.info().catch((error: Error) => {
    // It is among the commands that Redis calls dangerous.
    if (/\bNOPERM /.test(error.message)) return '';
    throw error;
  });
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null;
  return {
    address: redis.options.name ?? `${redis.options.host}:${redis.options.port}`,
    version: value('valkey_version') ?? value('redis_version'),
    isReplica: value('role') === 'slave',
    evictionPolicy: value('maxmemory_policy'),
    usedBytes: Number(value('used_memory')),
    mostBytes: Number(value('maxmemory')),
  };
}
