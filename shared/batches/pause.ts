import type { Dependencies } from '../dependencies.ts';
import { writeAudit } from '../platform/audit-log.ts';
import { type Database, Prisma, type RefundBatch, serviceTime } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { findBatch } from './batch.ts';
import { findRequester, mayRequest } from './requester.ts';

/** A change of a batch by someone. */
export interface BatchChange {
  owner: RefundOwner;
  batchId: string;
  /** For the audit log. */
  actor: string;
}

/**
 * Has a batch paused: no further row is begun. A worker may finish the few that it has begun. It is `paused` once a worker has found the
 * refunds of all rows, those of a worker that died too, so that the rows that wait can be sent again. One that is completed stays as it is.
 * @throws ServiceError not_found
 */
export async function pauseBatch(
  { db }: Pick<Dependencies, 'db'>,
  change: BatchChange,
): Promise<RefundBatch> {
  const changes = Prisma.sql`pause_reason = 'requested' WHERE status = 'processing' AND pause_reason IS NULL`;
  return await move(db, change, 'refund_batch.paused', changes);
}

/**
 * Goes on with a batch that is paused or about to be. Any other stays as it is. A user who resumes that of a user who may not create refunds
 * any more becomes its requester, so that others approve its further refunds. The keys of its rows stay the same, so none is refunded twice.
 * @throws ServiceError not_found; insufficient_scope when its requester may not create refunds any more.
 */
export async function resumeBatch(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  change: BatchChange,
): Promise<RefundBatch> {
  const batch = await findBatch(deps.db, change.owner, change.batchId);
  const hasEnded =
    batch.pauseReason !== null && !(await mayRequest(deps, batch, await findRequester(deps.db, batch)));
  const isUsers = batch.actor.startsWith('user:');
  if (hasEnded && !(isUsers && change.actor.startsWith('user:'))) {
    const instead = isUsers
      ? 'Have an operator resume it in the dashboard.'
      : 'Send the rows that are waiting as a new batch.';
    throw new ServiceError(
      'insufficient_scope',
      `The user or API key that created this batch may not create refunds any more. ${instead}`,
    );
  }
  const requester = hasEnded ? change.actor : batch.actor;
  // A worker that still has it keeps its lease.
  const changes = Prisma.sql`
    actor = ${requester}, status = 'processing', pause_reason = NULL, due_at = coalesce(due_at, service_time()) WHERE pause_reason IS NOT NULL`;
  return await move(deps.db, change, 'refund_batch.resumed', changes);
}

async function move(
  db: Database,
  { owner, batchId, actor }: BatchChange,
  action: 'refund_batch.paused' | 'refund_batch.resumed',
  changes: Prisma.Sql,
): Promise<RefundBatch> {
  return await db.$transaction(async (tx) => {
    await findBatch(tx, owner, batchId);
    const count =
      await tx.$executeRaw`UPDATE refund_batch SET updated_at = service_time(), ${changes} AND id = ${batchId}`;
    const entry = { organizationId: owner.organizationId, actor, action, target: batchId };
    if (count > 0) await writeAudit(tx, entry, await serviceTime(tx));
    return await findBatch(tx, owner, batchId);
  });
}
