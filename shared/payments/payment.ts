import type { Database, DatabaseTransaction, Payment, Refund } from '../platform/database.ts';
import type { ChosenAccount } from '../processors/accounts/choose-account.ts';
import { type ProcessorReads, readPaymentOf } from '../processors/accounts/read-payment.ts';
import type { ProcessorFailure, ProcessorPayment } from '../processors/contract/processor.ts';

/** Names a payment by any of its ids at its processor. The same transaction id of another account is another payment. */
export type PaymentKey = Pick<Payment, 'accountId'> & { transactionId: string };

/** A payment whose amount, currency and time are known. */
export type KnownPayment = Known<Omit<Payment, 'id'> & PaymentId>;

interface PaymentId {
  /** Null while the payment is not stored. */
  id: bigint | null;
}

type Facts = Pick<Payment, 'amount' | 'currency' | 'chargedAt'>;
type Known<Row extends Facts> = Row & { amount: bigint; currency: string; chargedAt: Date };

/** The payment, if its amount, currency and time are stored; else null. */
export function asKnown<Row extends Facts>(payment: Row | null): Known<Row> | null {
  if (payment === null) return null;
  const { amount, currency, chargedAt } = payment;
  if (amount === null || currency === null || chargedAt === null) return null;
  return { ...payment, amount, currency, chargedAt };
}

/** Selects all refunds of a payment, whichever of its ids they name. A payment that is not stored has none. */
export function refundsOf({ id }: PaymentId) {
  return { paymentId: { in: id === null ? [] : [id] } };
}

/** What can still be refunded, in minor units; null while the amount is unknown. */
export function remainingOf(
  payment: Pick<Payment, 'amount' | 'reserved' | 'refundedOutside'>,
): bigint | null {
  if (payment.amount === null) return null;
  return payment.amount - payment.reserved - payment.refundedOutside;
}

/** The stored payment, if any, and when it was read. */
export interface StoredPayment {
  payment: Payment | null;
  /** In the database's time. */
  now: Date;
}

/**
 * - `stored`: the stored payment is fresh, or the processor is unreachable.
 * - `read`: just read from the processor, not stored yet.
 * - `not-found`: the processor does not have the payment, or several that the id stands for.
 * - `ambiguous`: the id stands for several payments, which the message lists.
 * - `unrefundable`: the payment cannot be refunded at all.
 * - `unreachable`: the processor is unreachable, and nothing is stored.
 * - `unreadable`: the processor's answer is not as documented, and nothing is stored.
 * - `misconfigured`: the processor refuses the credentials, or they cannot be used, and nothing is stored. `hasWorked`: a call for the
 *   account has succeeded before, so that other credentials will do.
 */
export type PaymentFacts =
  | { kind: 'stored'; payment: KnownPayment }
  | { kind: 'read'; facts: ProcessorPayment; readAt: Date }
  | { kind: 'unrefundable'; facts: ProcessorPayment; readAt: Date; failure: ProcessorFailure }
  | { kind: 'not-found' | 'ambiguous' | 'unreachable' | 'unreadable'; failure: ProcessorFailure }
  | { kind: 'misconfigured'; failure: ProcessorFailure; hasWorked: boolean };

/**
 * The oldest reading by which an amount is chosen, or compared with limits on the payment's total: what was refunded elsewhere since
 * then may not have been reported.
 */
export const decisiveFreshMs = 60_000;

/**
 * The stored payment while it is fresh, else a read from the processor with a short time limit.
 * @param chosen with the answer of the processor where it was just asked.
 * @param freshMs how long a reading counts as fresh, if for less than TRANSACTION_FRESH_MS.
 */
export async function readFacts(
  deps: ProcessorReads,
  { account, answer: given }: ChosenAccount,
  transactionId: string,
  { payment, now }: StoredPayment,
  freshMs = Number.POSITIVE_INFINITY,
): Promise<PaymentFacts> {
  const stored = asKnown(payment);
  const longestMs = Math.min(freshMs, deps.settings.TRANSACTION_FRESH_MS);
  if (stored !== null && isFresh(stored, now, longestMs)) return { kind: 'stored', payment: stored };
  const answer = given ?? (await readPaymentOf(deps, account, transactionId));
  switch (answer.kind) {
    case 'found': {
      const read = { facts: answer.value, readAt: now };
      const { unrefundable } = answer.value;
      if (unrefundable !== null) return { kind: 'unrefundable', failure: unrefundable, ...read };
      return { kind: 'read', ...read };
    }
    case 'not-found':
    case 'ambiguous':
      return { kind: answer.kind, failure: answer.failure };
    case 'unavailable':
      if (stored !== null) return { kind: 'stored', payment: stored };
      return { kind: answer.cause === 'unreadable' ? 'unreadable' : 'unreachable', failure: answer.failure };
    case 'misconfigured':
      if (stored !== null) return { kind: 'stored', payment: stored };
      return { kind: answer.kind, failure: answer.failure, hasWorked: account.workedAt !== null };
  }
}

function isFresh({ fetchedAt }: Payment, now: Date, freshMs: number): boolean {
  return fetchedAt !== null && now.getTime() - fetchedAt.getTime() < freshMs;
}

/**
 * Stores a payment under all its ids, and joins what was stored of it under several of them; see
 * prisma/functions/payments/join_payments.sql. Not in a database transaction of the caller, whose locks would come in another order.
 * @param transactionIds every id of the payment, as its processor reports them.
 */
export async function joinPayments(
  db: Database,
  { accountId, transactionId }: PaymentKey,
  transactionIds: readonly string[],
): Promise<void> {
  const asked = { account_id: accountId, transaction_id: transactionId, transaction_ids: transactionIds };
  await db.$queryRaw`SELECT join_payments(${JSON.stringify(asked)}::jsonb)::text`;
}

/**
 * Locks a stored payment, which every change of its reservations needs.
 * @returns its id.
 */
export async function lockPayment(tx: DatabaseTransaction, key: PaymentKey): Promise<bigint> {
  return await lockRow(
    () => tx.$queryRaw`
      SELECT p.id FROM payment_name AS n JOIN payment AS p ON p.id = n.payment_id
      WHERE n.account_id = ${key.accountId} AND n.name = ${key.transactionId} FOR UPDATE OF p`,
  );
}

/** The same for the payment of a refund. */
export async function lockPaymentOf(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<bigint> {
  return await lockRow(
    () => tx.$queryRaw`
      SELECT p.id FROM refund AS r JOIN payment AS p ON p.id = r.payment_id WHERE r.id = ${id} FOR UPDATE OF p`,
  );
}

async function lockRow(select: () => Promise<{ id: bigint }[]>): Promise<bigint> {
  // The row is gone if the payment was joined to another one while this waited for it; then the other one is found.
  for (let tried = 0; tried < 10; tried += 1) {
    const [row] = await select();
    if (row !== undefined) return row.id;
  }
  throw new Error('No payment is stored for what should be locked');
}

/**
 * Marks a payment as stale: it is read again from its processor before its next use. A read that has begun before does not end
 * that.
 * @param id of a payment that the caller has locked.
 * @param moved minor units that moved without a reservation. Until the reading they count as refunded outside, as far as the payment allows.
 */
export async function markPaymentStale(tx: DatabaseTransaction, id: bigint, moved = 0n): Promise<void> {
  await tx.$executeRaw`
    UPDATE payment SET fetched_at = NULL, stale_since = service_time(),
      refunded_outside = LEAST(refunded_outside + ${moved}, amount - reserved) WHERE id = ${id}`;
}

/**
 * Forgets what was read of a payment, so that nothing is decided or sent before it is read again. Its reservations stay, and may
 * exceed it until then.
 * @param id of a payment that the caller has locked.
 */
export async function forgetPayment(tx: DatabaseTransaction, id: bigint): Promise<void> {
  await tx.$executeRaw`
    UPDATE payment SET amount = NULL, currency = NULL, charged_at = NULL, has_transfer = NULL, transfer_destination = NULL,
      has_application_fee = NULL, refunded_outside = 0, fetched_at = NULL, stale_since = service_time() WHERE id = ${id}`;
}
