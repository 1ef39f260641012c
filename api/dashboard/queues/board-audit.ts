import type { FastifyRequest } from 'fastify';
import type { Dependencies } from '../../../shared/dependencies.ts';
import { actorOf } from '../../../shared/people/acting.ts';
import { leastRoleInAll } from '../../../shared/people/find-members.ts';
import { holdSession } from '../../../shared/people/sessions.ts';
import { auditEverywhere } from '../../../shared/platform/audit-log.ts';
import { redact } from '../../../shared/platform/log.ts';
import { visitorOf } from '../http/access.ts';
import { accessOf } from './board-access.ts';
import { mayNotOrder } from './board-errors.ts';

/** What somebody orders on the board. */
export interface BoardAct {
  kind: 'retry' | 'promotion';
  queue: string;
  /** One job, as the request names it; null for all of a status. */
  jobId: string | null;
}

const longestJobId = 200;

/**
 * Writes down what a person orders, in every organization of the installation: whoever may use the board belongs to all of
 * them. Whether that is so is asked once more: whoever holds a request back must not use rights that were taken away
 * meanwhile, nor a session that has ended. It is done before the order is passed on, as no queue takes part in a
 * transaction; what was written and could not be carried out changed nothing.
 * @throws ServiceError insufficient_scope when the session has ended, or the person may order nothing any more.
 */
export async function auditBoardAct(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  request: FastifyRequest,
  { kind, queue, jobId }: BoardAct,
): Promise<void> {
  const { id: userId } = visitorOf(request).user;
  const action = kind === 'retry' ? 'queue.retry_requested' : 'queue.promotion_requested';
  const job = jobId === null ? 'all' : redact(jobId.replaceAll(/\p{Cc}/gu, '')).slice(0, longestJobId);
  const entry = {
    userId,
    actor: actorOf({ userId }),
    action,
    target: queue,
    detail: { queue, job },
  } as const;
  const { sessionId: sid } = request.session;
  const now = clock.now();
  await db.$transaction(async (tx) => {
    await holdSession(tx, { sid, userId, now });
    if (accessOf(await leastRoleInAll(tx, userId)) !== 'operate') throw mayNotOrder();
    await auditEverywhere(tx, entry, now);
  });
}
