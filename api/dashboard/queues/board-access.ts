import { mayAct } from '#shared/access/roles.ts';
import { leastRoleInAll } from '#shared/people/members/memberships.ts';
import type { DatabaseTransaction } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';

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

/**
 * Whether a route of the board only shows something; all others are refused: those that run, empty, pause or change a queue, and any
 * that a later version of the library adds.
 * @param path as registered, below the prefix of the board: `/api/queues/:queueName/workers`.
 */
export function isReading(method: string, path: string): boolean {
  return (method === 'GET' || method === 'HEAD') && readable.has(path);
}

/** Whether a user may use the board. It shows the jobs of all organizations, so the user must be an operator of every one. */
export async function mayUseBoard(
  db: DatabaseTransaction,
  userId: string,
  companyOf: string | undefined,
): Promise<boolean> {
  const role = await leastRoleInAll(db, userId, companyOf);
  return role !== null && mayAct(role, 'operator');
}

/** The error for everyone else. */
export function operatorRequired(): ServiceError {
  const message =
    'The queues contain jobs of every organization. To view them, you need the operator role in each one, and a second factor where one requires it.';
  return new ServiceError('insufficient_scope', message);
}
