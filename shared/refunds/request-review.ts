import type { DatabaseTransaction, Refund } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Has a refund read again from its processor as soon as a worker can, because somebody says that there is news of it.
 * The request is kept until a worker has read the refund after it; asking twice is asking once.
 * @param tx the caller's database transaction; the caller wakes a worker after its commit.
 * @returns false for a refund that waits for a person: it has never been at the processor.
 */
export async function requestReview(
  tx: DatabaseTransaction,
  { clock }: Pick<Dependencies, 'clock'>,
  { id }: Pick<Refund, 'id'>,
): Promise<boolean> {
  const { count } = await tx.refund.updateMany({
    where: { id, status: { not: 'pending' } },
    data: { reviewDueAt: clock.now(), wokenAt: null },
  });
  return count > 0;
}
