import type { Dependencies } from '../dependencies.ts';
import { writeAudit } from '../platform/audit-log.ts';
import { type Database, type RefundBatch, serviceTime } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { type BatchStatus, findBatch } from './batch.ts';
import { findRequester, mayRequest } from './requester.ts';

/** A change of a batch by someone. */
export interface BatchChange {
  owner: RefundOwner;
  batchId: string;
  /** For the audit log. */
  actor: string;
}

/**
 * Pauses a batch: no further row is begun. A worker may finish the few that it has begun. A batch that is paused or completed stays as it is.
 * @throws ServiceError not_found
 */
export async function pauseBatch(
  { db }: Pick<Dependencies, 'db'>,
  change: BatchChange,
): Promise<RefundBatch> {
  await findBatch(db, change.owner, change.batchId);
  return await move(db, change, 'processing', 'paused');
}

/**
 * Goes on with a batch that is paused. Any other stays as it is.
 * @throws ServiceError not_found; insufficient_scope when its requester may not create refunds any more.
 */
export async function resumeBatch(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  change: BatchChange,
): Promise<RefundBatch> {
  const batch = await findBatch(deps.db, change.owner, change.batchId);
  if (batch.status === 'paused' && !(await mayRequest(deps, batch, await findRequester(deps.db, batch)))) {
    throw new ServiceError(
      'insufficient_scope',
      'The user or API key that created this batch may not create refunds any more. Send the rows that are waiting as a new batch.',
    );
  }
  return await move(deps.db, change, 'paused', 'processing');
}

async function move(
  db: Database,
  { owner, batchId, actor }: BatchChange,
  from: BatchStatus,
  to: 'paused' | 'processing',
): Promise<RefundBatch> {
  const isPause = to === 'paused';
  return await db.$transaction(async (tx) => {
    const now = await serviceTime(tx);
    const { count } = await tx.refundBatch.updateMany({
      where: { id: batchId, status: from },
      data: {
        ...{ status: to, pauseReason: isPause ? 'requested' : null, dueAt: isPause ? null : now },
        updatedAt: now,
      },
    });
    const action = isPause ? 'refund_batch.paused' : 'refund_batch.resumed';
    const entry = { organizationId: owner.organizationId, actor, action, target: batchId } as const;
    if (count > 0) await writeAudit(tx, entry, now);
    return await findBatch(tx, owner, batchId);
  });
}
