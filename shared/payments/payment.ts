import { type DatabaseTransaction, type Payment, Prisma } from '../platform/database.ts';

/** The key of a payment. The same transaction id at another processor, organization or environment is another payment. */
export type PaymentKey = Pick<Payment, 'organizationId' | 'environment' | 'processor' | 'transactionId'>;

/** A payment whose amount, currency and time are stored. */
export type KnownPayment = Known<Payment>;

type Facts = Pick<Payment, 'amount' | 'currency' | 'chargedAt'>;
type Known<Row extends Facts> = Row & { amount: bigint; currency: string; chargedAt: Date };

/** The payment, if its amount, currency and time are stored; else null. */
export function asKnown<Row extends Facts>(payment: Row | null): Known<Row> | null {
  if (payment === null) return null;
  const { amount, currency, chargedAt } = payment;
  if (amount === null || currency === null || chargedAt === null) return null;
  return { ...payment, amount, currency, chargedAt };
}

/** The key of the payment in any row that has it. */
export function paymentKeyOf(row: PaymentKey): PaymentKey {
  const { organizationId, environment, processor, transactionId } = row;
  return { organizationId, environment, processor, transactionId };
}

/** What can still be refunded, in minor units; null while the amount is unknown. */
export function remainingOf(
  payment: Pick<Payment, 'amount' | 'reserved' | 'refundedOutside'>,
): bigint | null {
  if (payment.amount === null) return null;
  return payment.amount - payment.reserved - payment.refundedOutside;
}

/** Locks a payment's row, which every change of its reservations needs. */
export async function lockPayment(tx: DatabaseTransaction, key: PaymentKey): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM payment WHERE ${isPayment(key)} FOR UPDATE`;
}

/**
 * Counts money that moved without a reservation, as far as the payment allows, until the payment is read again. The caller also
 * calls `markPaymentsStale`.
 * @param amount minor units.
 */
export async function countRefundedOutside(
  tx: DatabaseTransaction,
  key: PaymentKey,
  amount: bigint,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE payment SET refunded_outside = LEAST(refunded_outside + ${amount}, amount - reserved)
    WHERE ${isPayment(key)}`;
}

/**
 * Marks payments as stale: they are read again from their processor before their next use. A read that has begun before does
 * not end that.
 * @param ids every id under which the payment may be stored.
 */
export async function markPaymentsStale(
  tx: DatabaseTransaction,
  { organizationId, environment, processor }: Omit<PaymentKey, 'transactionId'>,
  ids: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    UPDATE payment SET fetched_at = NULL, stale_since = service_time()
    WHERE organization_id = ${organizationId} AND environment = ${environment}::environment
      AND processor = ${processor} AND transaction_id = ANY (${[...ids]})`;
}

/** Selects one payment, for Prisma. */
export function wherePayment(key: PaymentKey) {
  return { organizationId_environment_processor_transactionId: paymentKeyOf(key) };
}

function isPayment(key: PaymentKey): Prisma.Sql {
  return Prisma.sql`organization_id = ${key.organizationId} AND environment = ${key.environment}::environment
    AND processor = ${key.processor} AND transaction_id = ${key.transactionId}`;
}
