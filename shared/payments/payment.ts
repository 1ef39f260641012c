import { type DatabaseTransaction, type Payment, Prisma } from '../platform/database.ts';

/** Names one payment: the same transaction id at another processor, organization or environment is another payment. */
export type PaymentKey = Pick<Payment, 'organizationId' | 'environment' | 'processor' | 'transactionId'>;

/** A payment whose facts are on record. */
export type KnownPayment = Known<Payment>;

type Facts = Pick<Payment, 'amount' | 'currency' | 'chargedAt'>;
type Known<Row extends Facts> = Row & { amount: bigint; currency: string; chargedAt: Date };

/** The payment, or the columns of it that were read, when its facts are on record; else null. */
export function asKnown<Row extends Facts>(payment: Row | null): Known<Row> | null {
  if (payment === null) return null;
  const { amount, currency, chargedAt } = payment;
  if (amount === null || currency === null || chargedAt === null) return null;
  return { ...payment, amount, currency, chargedAt };
}

/** The four columns that name a payment, out of any row that has them. */
export function paymentKeyOf(row: PaymentKey): PaymentKey {
  const { organizationId, environment, processor, transactionId } = row;
  return { organizationId, environment, processor, transactionId };
}

/** What can still be refunded of a payment, in minor units; null while its amount is not known. */
export function remainingOf(
  payment: Pick<Payment, 'amount' | 'reserved' | 'refundedOutside'>,
): bigint | null {
  if (payment.amount === null) return null;
  return payment.amount - payment.reserved - payment.refundedOutside;
}

/** Takes the row lock of a payment, behind which its reservations change. */
export async function lockPayment(tx: DatabaseTransaction, key: PaymentKey): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM payment WHERE ${isPayment(key)} FOR UPDATE`;
}

/**
 * Counts what moved without a reservation, as far as the payment allows, until the payment is read again. The caller
 * sees to it that it is: `markPaymentsStale`.
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
 * Has payments read again from their processor before they are next used, because there is news of them. A read that is
 * under way does not count as that.
 * @param ids every id that the payment may be on record under.
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

/** Prisma's form of the condition that selects one payment. */
export function wherePayment(key: PaymentKey) {
  return { organizationId_environment_processor_transactionId: paymentKeyOf(key) };
}

function isPayment(key: PaymentKey): Prisma.Sql {
  return Prisma.sql`organization_id = ${key.organizationId} AND environment = ${key.environment}::environment
    AND processor = ${key.processor} AND transaction_id = ${key.transactionId}`;
}
