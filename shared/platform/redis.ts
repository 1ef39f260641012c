import { Cluster, Redis, type RedisOptions } from 'ioredis';

/** For connections that a request waits for: fail within a second while Redis is unreachable. */
export const failFast: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  connectTimeout: 1_000,
  commandTimeout: 1_000,
};

/** Opens Redis, or a Redis Cluster when the URL lists several nodes: `redis://a:6379,redis://b:6379`. */
export function openRedis(url: string, options: RedisOptions): Redis | Cluster {
  const nodes = url.split(',').map((node) => node.trim());
  const [first = ''] = nodes;
  if (nodes.length === 1) return new Redis(first, { ...options, reconnectOnError: isDemoted });
  const { password, username, protocol } = new URL(first);
  const redisOptions: RedisOptions = {
    ...options,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
  return new Cluster(nodes, { redisOptions, enableOfflineQueue: options.enableOfflineQueue ?? true });
}

/** After a failover the former master, now a replica, keeps its connections, and refuses what they write. */
function isDemoted({ message }: Error): boolean {
  return message.startsWith('READONLY ');
}
