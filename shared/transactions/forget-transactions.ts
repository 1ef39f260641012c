import type { DatabaseTransaction } from '../db.ts';
import type { TransactionKey } from './reservation.ts';

/**
 * Stops believing in what is stored of payments, because something else was heard of them: each is read from its
 * processor before it is next used.
 * @param ids every id that the payment may be on record under.
 */
export async function forgetTransactions(
  tx: DatabaseTransaction,
  { organizationId, environment, processor }: Omit<TransactionKey, 'transactionId'>,
  ids: readonly string[],
): Promise<void> {
  await tx.transaction.updateMany({
    where: { organizationId, environment, processor, transactionId: { in: [...ids] } },
    data: { fetchedAt: null },
  });
}
