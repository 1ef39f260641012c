import type { FastifyRequest } from 'fastify';
import type { Dependencies } from '#shared/dependencies.ts';
import { actorOf } from '#shared/people/actors.ts';
import { leastRoleInAll } from '#shared/people/members/memberships.ts';
import { mayAct } from '#shared/people/roles.ts';
import { holdSession } from '#shared/people/sign-in/sessions.ts';
import { auditEverywhere } from '#shared/platform/audit-log.ts';
import type { DatabaseTransaction } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { redact } from '#shared/platform/log.ts';
import { ownSessionOf } from '../http/access.ts';

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

/** A job is only a wake-up, so running it again or sooner is harmless. */
const operable: ReadonlySet<string> = new Set([
  '/api/queues/:queueName/retry/:queueStatus',
  '/api/queues/:queueName/promote',
  '/api/queues/:queueName/:jobId/retry',
  '/api/queues/:queueName/:jobId/promote',
]);

/**
 * What a route of the board does; null for a forbidden one: those that empty, pause or change a queue, and any that a later
 * version of the library adds.
 * @param path as registered, below the prefix of the board: `/api/queues/:queueName/promote`.
 */
export function kindOfRoute(method: string, path: string): 'read' | 'operate' | null {
  if ((method === 'GET' || method === 'HEAD') && readable.has(path)) return 'read';
  if (method === 'PUT' && operable.has(path)) return 'operate';
  return null;
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

/** A retry or promotion that a user requests. */
export interface BoardAction {
  kind: 'retry' | 'promotion';
  queue: string;
  /** One job, as the request names it; null for all jobs of a status. */
  jobId: string | null;
}

const maxJobIdLength = 200;

/**
 * Audits a retry or promotion in every organization, after checking session and role once more: rights may have been
 * revoked while the request was delayed. Queues take part in no transaction, so this comes before the action.
 * @throws ServiceError insufficient_scope when the session has ended or the user may no longer do this.
 */
export async function auditBoardAction(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  request: FastifyRequest,
  { kind, queue, jobId }: BoardAction,
): Promise<void> {
  const { userId, sid } = ownSessionOf(request);
  const action = kind === 'retry' ? 'queue.retry_requested' : 'queue.promotion_requested';
  const job = jobId === null ? 'all' : redact(jobId.replaceAll(/\p{Cc}/gu, '')).slice(0, maxJobIdLength);
  const detail = { queue, job };
  const entry = { userId, actor: actorOf({ userId }), action, target: queue, detail } as const;
  const now = clock.now();
  await db.$transaction(async (tx) => {
    await holdSession(tx, { sid, userId, now });
    if (!(await mayUseBoard(tx, userId, request.session.companyOf))) throw operatorRequired();
    await auditEverywhere(tx, entry, now);
  });
}
