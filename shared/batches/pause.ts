import { writeAudit } from '../audit/audit-log.ts';
import { type Database, Prisma, type RefundBatch, serviceTime } from '../platform/database.ts';
import type { RefundQueues } from '../platform/queues.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { findBatch } from './batch.ts';

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
export async function pauseBatch({ db }: { db: Database }, change: BatchChange): Promise<RefundBatch> {
  return await move(db, change, 'refund_batch.paused', {
    set: Prisma.sql`pause_reason = 'requested'`,
    where: Prisma.sql`status = 'processing' AND pause_reason IS NULL`,
  });
}

/**
 * Goes on with a batch that is paused or about to be. Any other stays as it is.
 * @throws ServiceError not_found
 */
export async function resumeBatch(
  { db, queues }: { db: Database; queues: Pick<RefundQueues, 'wakeWorkers'> },
  change: BatchChange,
): Promise<RefundBatch> {
  const resumed = await move(db, change, 'refund_batch.resumed', {
    // A worker that still has it keeps its lease, which is the time at which it is due.
    set: Prisma.sql`status = 'processing', pause_reason = NULL, due_at = coalesce(due_at, service_time())`,
    where: Prisma.sql`pause_reason IS NOT NULL`,
  });
  queues.wakeWorkers();
  return resumed;
}

/** Notes that a person has seen what was rejected and what failed of a finished batch. @throws ServiceError not_found */
export async function dismissBatch({ db }: { db: Database }, change: BatchChange): Promise<RefundBatch> {
  return await move(db, change, 'refund_batch.dismissed', {
    set: Prisma.sql`seen_at = service_time()`,
    where: Prisma.sql`completed_at IS NOT NULL`,
  });
}

async function move(
  db: Database,
  { owner, batchId, actor }: BatchChange,
  action: 'refund_batch.paused' | 'refund_batch.resumed' | 'refund_batch.dismissed',
  { set, where }: { set: Prisma.Sql; where: Prisma.Sql },
): Promise<RefundBatch> {
  return await db.$transaction(async (tx) => {
    await findBatch(tx, owner, batchId);
    const count = await tx.$executeRaw`
      UPDATE refund_batch SET updated_at = service_time(), ${set} WHERE id = ${batchId} AND ${where}`;
    const entry = { organizationId: owner.organizationId, actor, action, target: batchId };
    if (count > 0) await writeAudit(tx, entry, await serviceTime(tx));
    return await findBatch(tx, owner, batchId);
  });
}
