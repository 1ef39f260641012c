import { inject } from 'vitest';
import '../processes/run-servers.ts';

/** Where the queues of a test live. */
export interface QueueBackend {
  name: 'postgres' | 'redis';
  /** Null for queues in PostgreSQL. Files share the Redis: use a queue prefix of your own. */
  redisUrl: string | null;
}

const redisUrl = inject('redisUrl');

export const postgresQueues: QueueBackend = { name: 'postgres', redisUrl: null };

/** For `describe.each`: PostgreSQL always, Redis where this machine has one (the run says so when it has none). */
export const queueBackends: QueueBackend[] = [
  postgresQueues,
  ...(redisUrl === null ? [] : [{ name: 'redis' as const, redisUrl }]),
];
