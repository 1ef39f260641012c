import type { FastifyRequest } from 'fastify';
import { auditEverywhere } from '../../../shared/audit-log.ts';
import type { Dependencies } from '../../../shared/dependencies.ts';
import { actorOf } from '../../../shared/people/acting.ts';
import { redact } from '../../../shared/redact.ts';
import { visitorOf } from '../access.ts';

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
 * them. It is done before the order is passed on, as no queue takes part in a transaction; what was written and could not be
 * carried out changed nothing.
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
  await db.$transaction((tx) => auditEverywhere(tx, entry, clock.now()));
}
