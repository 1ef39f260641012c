import type { Clock } from '../clock.ts';
import type { Database, DatabaseTransaction, Refund, Transaction } from '../db.ts';
import { formatAmount } from '../money.ts';
import { isLive, type ProcessorRefund, type ProcessorTransaction } from '../processors/processor.ts';
import { holdsReservation, refundStatuses } from '../refunds/states.ts';
import { surelyUnsent } from '../refunds/surely-unsent.ts';
import { transition } from '../refunds/transition.ts';
import { lockTransaction, pickTransactionKey, type TransactionKey, whereTransaction } from './reservation.ts';

/**
 * Stores what the processor says of a payment. Refunds that were accepted while it could not be asked are held
 * against the facts here, before anything is sent: oldest first, those that are surely not at the processor and do not
 * fit fail, or are cancelled while they wait for approval.
 * @param readAt when the reading began. One that began before the last one that is stored is not stored; one that began
 * before the payment was last doubted is stored, and does not end the doubt.
 * @returns the payment as stored; still without its amount while more than that is reserved by refunds that are, or may
 * be, at the processor.
 */
export async function recordTransaction(
  deps: { db: Database; clock: Clock },
  key: TransactionKey,
  facts: ProcessorTransaction,
  readAt: Date,
): Promise<Transaction> {
  return await deps.db.$transaction(async (tx) => {
    await ensureTransaction(tx, key);
    await lockTransaction(tx, key);
    const where = whereTransaction(key);
    const known = await tx.transaction.findUniqueOrThrow({ where });
    if (known.fetchedAt !== null && known.fetchedAt > readAt) return known;
    const outside = await refundedOutside(tx, key, facts.refunds);
    if (known.amount === null) await failUnfitting(tx, deps.clock, known, facts, outside);
    const { reserved } = await tx.transaction.findUniqueOrThrow({ where });
    const isDoubted = known.doubtedAt !== null && readAt <= known.doubtedAt;
    return await tx.transaction.update({
      where,
      data: storable(facts, outside, reserved, isDoubted ? null : readAt),
    });
  });
}

/**
 * What the row can hold. While refunds of ours are under way, the payment may have shrunk, or been refunded outside, to
 * less than they have reserved. The processor will refuse them then; as much as fits is stored, and the payment is
 * read again when it is next needed.
 */
function storable(facts: ProcessorTransaction, outside: bigint, reserved: bigint, fetchedAt: Date | null) {
  const { amount, currency, chargedAt } = facts;
  if (amount < reserved) return { fetchedAt: null };
  const fits = outside <= amount - reserved;
  return {
    amount,
    currency,
    chargedAt,
    refundedOutside: fits ? outside : amount - reserved,
    fetchedAt: fits ? fetchedAt : null,
  };
}

/** Makes sure that there is a row to reserve on, also while the processor cannot be asked. */
export async function ensureTransaction(db: DatabaseTransaction, key: TransactionKey): Promise<void> {
  await db.$executeRaw`
    INSERT INTO transaction (organization_id, environment, processor, transaction_id)
    VALUES (${key.organizationId}, ${key.environment}::environment, ${key.processor}, ${key.transactionId})
    ON CONFLICT DO NOTHING`;
}

/**
 * The sum of the processor's live refunds that no reservation of ours stands for. A refund of ours is known by the
 * processor's id once that is on record, and by our name before, unless it waits for approval; what else carries our name
 * was made by somebody else.
 */
async function refundedOutside(
  tx: DatabaseTransaction,
  key: TransactionKey,
  refunds: readonly ProcessorRefund[],
): Promise<bigint> {
  const live = refunds.filter(isLive);
  if (live.length === 0) return 0n;
  const ours = await tx.refund.findMany({
    where: { ...pickTransactionKey(key), status: { in: refundStatuses.filter(holdsReservation) } },
    select: { id: true, externalRefundId: true, status: true },
  });
  const atProcessor = ours.filter(({ status }) => status !== 'pending');
  const ourIds = new Set(atProcessor.map(({ id, externalRefundId }) => externalRefundId ?? id));
  return live
    .filter(({ id, refundId }) => !ourIds.has(id) && !(refundId !== null && ourIds.has(refundId)))
    .reduce((sum, { amount }) => sum + amount, 0n);
}

/** What is at the processor, or may be, keeps what it has reserved, and the others share what is left. */
async function failUnfitting(
  tx: DatabaseTransaction,
  clock: Clock,
  payment: Transaction,
  facts: ProcessorTransaction,
  outside: bigint,
): Promise<void> {
  const waiting = await tx.refund.findMany({
    where: { ...pickTransactionKey(payment), ...surelyUnsent, status: { in: ['pending', 'processing'] } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const taken = waiting.reduce((others, { amount }) => others - amount, payment.reserved);
  let left = facts.amount - outside - taken;
  for (const refund of waiting) {
    const problem = problemOf(refund, facts, left);
    if (problem === null) left -= refund.amount;
    else await failUnsent(tx, clock, refund, problem);
  }
}

/** Why a refund cannot be made of a payment, in the codes that `failureCode` carries; null when it can. */
function problemOf(
  refund: Refund,
  facts: ProcessorTransaction,
  left: bigint,
): { code: string; message: string } | null {
  if (refund.currency !== facts.currency) {
    return {
      code: 'currency_mismatch',
      message: `The transaction is in ${facts.currency.toUpperCase()}; pass currency "${facts.currency}".`,
    };
  }
  if (refund.amount <= left) return null;
  if (left <= 0n)
    return { code: 'already_refunded', message: 'The transaction has already been refunded in full.' };
  return {
    code: 'amount_too_large',
    message: `The transaction has ${formatAmount(left, facts.currency)} left to refund; the amount is more than that.`,
  };
}

async function failUnsent(
  tx: DatabaseTransaction,
  clock: Clock,
  refund: Refund,
  problem: { code: string; message: string },
): Promise<void> {
  const changes = { failureCode: problem.code, failureMessage: problem.message };
  const entry = { actor: 'service', detail: { ...problem, sent: false } };
  // A refund that still waits for a person has not been promised to anybody, so it is cancelled instead.
  if (refund.status === 'pending') {
    await transition(tx, clock, {
      refund,
      from: 'pending',
      to: 'cancelled',
      guard: surelyUnsent,
      changes,
      entry: { ...entry, type: 'refund.cancelled' },
    });
    return;
  }
  await transition(tx, clock, {
    refund,
    from: 'processing',
    to: 'failed',
    guard: surelyUnsent,
    changes,
    entry: { ...entry, type: 'refund.failed' },
  });
}
