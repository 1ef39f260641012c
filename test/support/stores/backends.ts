import { inject } from 'vitest';
import '../processes/run-servers.ts';

/** The store of a test's queues. */
export interface QueueBackend {
  name: 'postgres' | 'redis';
  /** Null for queues in PostgreSQL. Test files share the Redis and need separate queue prefixes. */
  redisUrl: string | null;
}

const redisUrl = inject('redisUrl');

export const postgresQueues: QueueBackend = { name: 'postgres', redisUrl: null };

/** For `describe.each`: PostgreSQL, and Redis where redis-server is installed. */
export const queueBackends: QueueBackend[] = [
  postgresQueues,
  ...(redisUrl === null ? [] : [{ name: 'redis' as const, redisUrl }]),
];
