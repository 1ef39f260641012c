import { isDatabaseUnavailable } from './database.ts';

const redisNames = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError']);

const redisMessages =
  /^(command timed out|stream isn't writeable|connection is closed|LOADING |CLUSTERDOWN |MASTERDOWN |READONLY |TRYAGAIN )/i;

/** True when an error says that the queues' store, Redis or PostgreSQL, is gone, frozen or not ready. */
export function isQueueUnavailable(error: unknown): boolean {
  if (isDatabaseUnavailable(error)) return true;
  return error instanceof Error && (redisNames.has(error.name) || redisMessages.test(error.message));
}

/** True when the queue refused to do something with a job because of the state that the job is in by now. */
export function isRefusedByQueue(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code < 0;
}
