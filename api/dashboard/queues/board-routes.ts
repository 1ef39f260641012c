/** What somebody may do on the queue board: nothing, look at everything, or also retry and promote jobs. */
export type BoardAccess = 'none' | 'read' | 'operate';

/** Pages, files and answers of the board that change nothing. */
const readable: ReadonlySet<string> = new Set([
  '/',
  '/job-schedulers',
  '/queue/:queueName',
  '/queue/:queueName/:jobId',
  '/static/*',
  '/api/redis/stats',
  '/api/queues',
  '/api/job-schedulers',
  '/api/queues/:queueName/metrics',
  '/api/queues/:queueName/default-job-options',
  '/api/queues/:queueName/workers',
  '/api/queues/:queueName/rate-limit',
  '/api/queues/:queueName/job-data-schema',
  '/api/queues/:queueName/:jobId/logs',
  '/api/queues/:queueName/:jobId/flow',
  '/api/queues/:queueName/:jobId',
]);

/** A job is only a wake-up call, so that to run one again, or sooner, is harmless whatever it is about. */
const operable: ReadonlySet<string> = new Set([
  '/api/queues/:queueName/retry/:queueStatus',
  '/api/queues/:queueName/promote',
  '/api/queues/:queueName/:jobId/retry',
  '/api/queues/:queueName/:jobId/promote',
]);

/**
 * What a route of the board demands; null for one that nobody may use: it empties, pauses or rewrites a queue, or it
 * came with a later version of the board and nobody has looked at it yet.
 * @param path as registered, below the prefix of the board: `/api/queues/:queueName/promote`.
 */
export function accessDemanded(method: string, path: string): Exclude<BoardAccess, 'none'> | null {
  if ((method === 'GET' || method === 'HEAD') && readable.has(path)) return 'read';
  if (method === 'PUT' && operable.has(path)) return 'operate';
  return null;
}
