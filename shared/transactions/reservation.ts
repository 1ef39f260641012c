import { type DatabaseTransaction, Prisma, type Transaction } from '../db.ts';

/** Names one payment: the same transaction id at another processor, organization or environment is another payment. */
export type TransactionKey = Pick<
  Transaction,
  'organizationId' | 'environment' | 'processor' | 'transactionId'
>;

/** The four columns that name a payment, out of any row that has them. */
export function pickTransactionKey(row: TransactionKey): TransactionKey {
  const { organizationId, environment, processor, transactionId } = row;
  return { organizationId, environment, processor, transactionId };
}

/**
 * Takes part of a payment for a refund, unless that would refund more than was paid, or another currency: one guarded
 * UPDATE. While the processor has not yet told the amount there is no limit; `recordTransaction` applies it before anything is sent.
 * @returns false when that cannot be; nothing was changed.
 */
export async function reserve(
  tx: DatabaseTransaction,
  key: TransactionKey,
  { amount, currency }: { amount: bigint; currency: string },
): Promise<boolean> {
  const reservedCount = await tx.$executeRaw`
    UPDATE transaction SET reserved = reserved + ${amount}
    WHERE ${isTransaction(key)} AND (currency IS NULL OR currency = ${currency})
      AND (amount IS NULL OR reserved + ${amount} <= amount - refunded_outside)`;
  return reservedCount === 1;
}

/** Gives a reservation back. */
export async function release(tx: DatabaseTransaction, key: TransactionKey, amount: bigint): Promise<void> {
  await tx.$executeRaw`UPDATE transaction SET reserved = reserved - ${amount} WHERE ${isTransaction(key)}`;
}

/**
 * Counts what moved without a reservation, as far as the payment allows, until the payment is read again. The caller
 * sees to it that it is: `forgetTransactions`.
 * @param amount minor units.
 */
export async function countRefundedOutside(
  tx: DatabaseTransaction,
  key: TransactionKey,
  amount: bigint,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE transaction SET refunded_outside = LEAST(refunded_outside + ${amount}, amount - reserved)
    WHERE ${isTransaction(key)}`;
}

/** Takes the row lock of a payment, behind which its reservations change. */
export async function lockTransaction(tx: DatabaseTransaction, key: TransactionKey): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM transaction WHERE ${isTransaction(key)} FOR UPDATE`;
}

/** What can still be refunded of a payment, in minor units; null while its amount is not known. */
export function remainingOf(
  transaction: Pick<Transaction, 'amount' | 'reserved' | 'refundedOutside'>,
): bigint | null {
  if (transaction.amount === null) return null;
  return transaction.amount - transaction.reserved - transaction.refundedOutside;
}

/** Prisma's form of the condition that selects one payment. */
export function whereTransaction(key: TransactionKey) {
  return { organizationId_environment_processor_transactionId: pickTransactionKey(key) };
}

function isTransaction(key: TransactionKey): Prisma.Sql {
  return Prisma.sql`organization_id = ${key.organizationId} AND environment = ${key.environment}::environment
    AND processor = ${key.processor} AND transaction_id = ${key.transactionId}`;
}
