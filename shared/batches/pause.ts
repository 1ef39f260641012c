import type { Dependencies } from '../dependencies.ts';
import { writeAudit } from '../platform/audit-log.ts';
import { type RefundBatch, serviceTime } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { findBatch } from './batch.ts';
import { readRequester } from './requester.ts';

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
  { owner, batchId, actor }: BatchChange,
): Promise<RefundBatch> {
  await findBatch(db, owner, batchId);
  return await db.$transaction(async (tx) => {
    const now = await serviceTime(tx);
    const { count } = await tx.refundBatch.updateMany({
      where: { id: batchId, status: 'processing' },
      data: { status: 'paused', pauseReason: 'requested', dueAt: null, updatedAt: now },
    });
    const { organizationId } = owner;
    const entry = { organizationId, actor, action: 'refund_batch.paused', target: batchId } as const;
    if (count > 0) await writeAudit(tx, entry, now);
    return await findBatch(tx, owner, batchId);
  });
}

/**
 * Goes on with a batch that is paused. Any other stays as it is.
 * @throws ServiceError not_found; insufficient_scope when its requester may not create refunds any more.
 */
export async function resumeBatch(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  { owner, batchId, actor }: BatchChange,
): Promise<RefundBatch> {
  const { db } = deps;
  const batch = await findBatch(db, owner, batchId);
  if (batch.status === 'paused' && (await readRequester(deps, batch)) === null) {
    throw new ServiceError(
      'insufficient_scope',
      'The user or API key that created this batch may not create refunds any more. Send the rows that are waiting as a new batch.',
    );
  }
  return await db.$transaction(async (tx) => {
    const now = await serviceTime(tx);
    const { count } = await tx.refundBatch.updateMany({
      where: { id: batchId, status: 'paused' },
      data: { status: 'processing', pauseReason: null, dueAt: now, updatedAt: now },
    });
    const { organizationId } = owner;
    const entry = { organizationId, actor, action: 'refund_batch.resumed', target: batchId } as const;
    if (count > 0) await writeAudit(tx, entry, now);
    return await findBatch(tx, owner, batchId);
  });
}
