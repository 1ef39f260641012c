import type { Clock } from '../clock.ts';
import type { DatabaseTransaction } from '../db.ts';
import type { TransactionKey } from './reservation.ts';

/**
 * Stops believing in what is stored of payments, because something else was heard of them: each is read from its
 * processor before it is next used. A reading that is under way does not count as that.
 * @param ids every id that the payment may be on record under.
 */
export async function forgetTransactions(
  tx: DatabaseTransaction,
  clock: Clock,
  { organizationId, environment, processor }: Omit<TransactionKey, 'transactionId'>,
  ids: readonly string[],
): Promise<void> {
  await tx.transaction.updateMany({
    where: { organizationId, environment, processor, transactionId: { in: [...ids] } },
    data: { fetchedAt: null, doubtedAt: clock.now() },
  });
}
