import type { DatabaseTransaction, Refund } from '../../platform/database.ts';

// What people have decided about a refund is read from its timeline, which nobody can change.

/** The event of a person who lets a contradiction stand. */
export const keptEvent = 'review.kept';

/** True when a person has decided about a flag for this other refund under the refund's name. */
export async function wasExtraDealtWith(
  db: DatabaseTransaction,
  refundId: string,
  extraRefundId: string | null,
): Promise<boolean> {
  if (extraRefundId === null) return false;
  const detail = { path: ['extraRefundId'], equals: extraRefundId };
  return (await db.refundEvent.count({ where: { refundId, detail } })) > 0;
}

/** True when a person has ended the refund against, or without, the word of its processor. */
export async function wasForced(db: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const lastMove = await db.refundEvent.findFirst({
    where: { refundId: id, previousStatus: { not: null } },
    orderBy: { seq: 'desc' },
  });
  return (lastMove?.detail as { forced?: boolean } | undefined)?.forced === true;
}
