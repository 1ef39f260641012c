import {
  type Database,
  type DatabaseTransaction,
  type Payment,
  Prisma,
  type Refund,
} from '../platform/database.ts';

/**
 * The key of a payment: any of its ids at its processor. The same transaction id at another processor, organization or
 * environment is another payment.
 */
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
function paymentKeyOf(row: PaymentKey): PaymentKey {
  const { organizationId, environment, processor, transactionId } = row;
  return { organizationId, environment, processor, transactionId };
}

/** The key of the row that holds a refund's payment. */
export function paymentOf(refund: Omit<PaymentKey, 'transactionId'> & Pick<Refund, 'paymentId'>): PaymentKey {
  return paymentKeyOf({ ...refund, transactionId: refund.paymentId });
}

/** Selects all refunds of a payment, whichever of its ids they name. */
export function refundsOf({ organizationId, environment, processor, transactionId }: PaymentKey) {
  return { organizationId, environment, processor, paymentId: transactionId };
}

/** What can still be refunded, in minor units; null while the amount is unknown. */
export function remainingOf(
  payment: Pick<Payment, 'amount' | 'reserved' | 'refundedOutside'>,
): bigint | null {
  if (payment.amount === null) return null;
  return payment.amount - payment.reserved - payment.refundedOutside;
}

/**
 * Inserts a payment that is not stored yet, and joins what was stored of it under several ids; see
 * prisma/functions/payments/join_payments.sql. Not in a database transaction of the caller, whose locks would come in another order.
 * @param transactionIds every id of the payment, as its processor reports them.
 * @returns the key of the row that holds the payment.
 */
export async function joinPayments(
  db: Database,
  key: PaymentKey,
  transactionIds: readonly string[],
): Promise<PaymentKey> {
  const { organizationId, environment, processor, transactionId } = key;
  const asked = {
    ...{ organization_id: organizationId, environment, processor, transaction_id: transactionId },
    payment: { transaction_ids: transactionIds },
  };
  const [row] = await db.$queryRaw<
    { id: string }[]
  >`SELECT join_payments(${JSON.stringify(asked)}::jsonb) AS id`;
  if (row === undefined) throw new Error('join_payments returned no row');
  return paymentKeyOf({ ...key, transactionId: row.id });
}

/**
 * Locks a payment's row, which every change of its reservations needs.
 * @returns the key of the row that holds the payment: the given one, or the one that it is an alias of.
 */
export async function lockPayment(tx: DatabaseTransaction, key: PaymentKey): Promise<PaymentKey> {
  const [row] = await tx.$queryRaw<Pick<Payment, 'aliasOf'>[]>`
    SELECT alias_of AS "aliasOf" FROM payment WHERE ${isPayment(key)} FOR UPDATE`;
  const aliasOf = row?.aliasOf ?? null;
  return aliasOf === null ? paymentKeyOf(key) : await lockPayment(tx, { ...key, transactionId: aliasOf });
}

/**
 * Counts money that moved without a reservation, as far as the payment allows, until the payment is read again. The caller also
 * calls `markPaymentsStale`.
 * @param key of the row that holds the payment.
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
 * @param ids any ids of the payments.
 */
export async function markPaymentsStale(
  tx: DatabaseTransaction,
  { organizationId, environment, processor }: Omit<PaymentKey, 'transactionId'>,
  ids: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    UPDATE payment SET fetched_at = NULL, stale_since = service_time()
    WHERE organization_id = ${organizationId} AND environment = ${environment}::environment
      AND processor = ${processor} AND transaction_id = ANY (ARRAY(
        SELECT coalesce(alias_of, transaction_id) FROM payment
        WHERE organization_id = ${organizationId} AND environment = ${environment}::environment
          AND processor = ${processor} AND transaction_id = ANY (${[...ids]})))`;
}

/** Selects the row of one id of a payment, for Prisma. */
export function wherePayment(key: PaymentKey) {
  return { organizationId_environment_processor_transactionId: paymentKeyOf(key) };
}

function isPayment(key: PaymentKey): Prisma.Sql {
  return Prisma.sql`organization_id = ${key.organizationId} AND environment = ${key.environment}::environment
    AND processor = ${key.processor} AND transaction_id = ${key.transactionId}`;
}
