import { formatAmount } from '../../money/money.ts';
import {
  asKnown,
  joinPayments,
  type KnownPayment,
  lockPayment,
  type PaymentFacts,
  type PaymentKey,
  refundsOf,
} from '../../payments/payment.ts';
import type { Database, DatabaseTransaction, Payment, Refund } from '../../platform/database.ts';
import type { AccountName } from '../../processors/accounts/account.ts';
import {
  isLive,
  isNamed,
  type ProcessorFailure,
  type ProcessorPayment,
  type ProcessorRefund,
} from '../../processors/contract/processor.ts';
import { moveRefund } from './move.ts';
import { endNotSentWork } from './work.ts';

/**
 * Stores a payment as just read from its processor. Refunds that were accepted while the processor was unreachable are checked
 * against it before anything is sent: oldest first, those that are not at the processor and do not fit fail, or are cancelled
 * if they await approval.
 * @param key by the id that the payment was read by.
 * @param readAt when the read began, in the database's time. A read that began before the stored one is ignored; one that began
 * before the payment became stale is stored, and the payment stays stale, as does one that was charged back.
 * @returns the stored payment; without an amount while refunds that may be at the processor have reserved more than that.
 */
export async function recordPayment(
  db: Database,
  key: PaymentKey,
  facts: ProcessorPayment,
  readAt: Date,
): Promise<Payment> {
  await joinPayments(db, key, facts.transactionIds);
  return await db.$transaction(async (tx) => {
    const where = { id: await lockPayment(tx, key) };
    const known = await tx.payment.findUniqueOrThrow({ where });
    if (known.fetchedAt !== null && known.fetchedAt > readAt) return known;
    const outside = await refundedOutside(tx, known, facts.refunds);
    if (known.amount === null) await failUnfitting(tx, known, facts, outside);
    const { reserved } = await tx.payment.findUniqueOrThrow({ where });
    const isStale = known.staleSince !== null && readAt <= known.staleSince;
    const isDisputed = facts.unrefundable?.code === 'charge_disputed';
    // A read that may not see disputes does not end one.
    const isUnseen = facts.disputes?.kind === 'misconfigured';
    const notDisputed = isStale || isUnseen ? known.disputedAt : null;
    return await tx.payment.update({
      where,
      data: {
        ...storable(facts, outside, reserved, isStale || isDisputed ? null : readAt),
        disputedAt: isDisputed ? (known.disputedAt ?? readAt) : notDisputed,
      },
    });
  });
}

/**
 * What the row can store. The payment may have become less than our open refunds have reserved, for example by refunds made
 * elsewhere. The processor will refuse some of them; as much as fits is stored, and the payment is read again before its next use.
 */
export function storable(facts: ProcessorPayment, outside: bigint, reserved: bigint, fetchedAt: Date | null) {
  const { amount, currency, chargedAt, hasTransfer, transferDestination, applicationFee } = facts;
  if (amount < reserved) return { fetchedAt: null };
  const fits = outside <= amount - reserved;
  return {
    externalId: facts.transactionIds[0] ?? null,
    amount,
    currency,
    chargedAt,
    ...{ hasTransfer, transferDestination, hasApplicationFee: applicationFee },
    refundedOutside: fits ? outside : amount - reserved,
    fetchedAt: fits ? fetchedAt : null,
  };
}

/** The sum of the live refunds. */
export function sumOfLive(refunds: readonly ProcessorRefund[]): bigint {
  return refunds.filter(isLive).reduce((sum, { amount }) => sum + amount, 0n);
}

/**
 * The sum of the processor's live refunds that have no reservation here. Our refunds are recognized by the processor's id once
 * it is stored, before that by our name, unless they await approval. Any other refund with our name was made elsewhere.
 */
async function refundedOutside(
  tx: Pick<DatabaseTransaction, 'refund'>,
  payment: Pick<Payment, 'id'>,
  refunds: readonly ProcessorRefund[],
): Promise<bigint> {
  if (!refunds.some(isLive)) return 0n;
  const ours = await tx.refund.findMany({
    where: {
      ...refundsOf(payment),
      isLive: true,
      status: { not: 'pending' },
      // Of a payment with many refunds, those that the processor has.
      OR: [
        { externalRefundId: { in: refunds.map(({ id }) => id) } },
        { externalRefundId: null, id: { in: refunds.flatMap(({ refundId }) => refundId ?? []) } },
        {
          externalRefundId: null,
          idempotencyKey: { in: refunds.flatMap(({ requestDigest }) => requestDigest ?? []) },
        },
      ],
    },
    select: { id: true, externalRefundId: true, idempotencyKey: true },
  });
  const isOurs = (theirs: ProcessorRefund) =>
    ours.some(({ id, externalRefundId, idempotencyKey }) =>
      externalRefundId === null
        ? isNamed(theirs, { refundId: id, requestDigest: idempotencyKey })
        : externalRefundId === theirs.id,
    );
  return sumOfLive(refunds.filter((theirs) => !isOurs(theirs)));
}

/** Refunds that may be at the processor keep their reservation; the others share what is left. */
async function failUnfitting(
  tx: DatabaseTransaction,
  payment: Payment,
  facts: ProcessorPayment,
  outside: bigint,
): Promise<void> {
  const waiting = await lockNotSent(tx, payment);
  const taken = waiting.reduce((others, { amount }) => others - amount, payment.reserved);
  let left = facts.amount - outside - taken;
  for (const refund of waiting) {
    const problem = problemOf(refund, facts, left);
    if (problem === null) left -= refund.amount;
    else await endNotSent(tx, refund, problem);
  }
}

/** Without metadata, because a payment may have any number of refunds. */
type NotSentRefund = Pick<Refund, 'id' | 'status' | 'amount' | 'currency'>;

/** The open refunds that are certainly not at the processor, oldest first, with their work locked, so that none is sent meanwhile. */
async function lockNotSent(tx: DatabaseTransaction, payment: Payment): Promise<NotSentRefund[]> {
  await tx.$queryRaw`
    SELECT w.refund_id FROM refund_work AS w JOIN refund AS r ON r.id = w.refund_id
    WHERE r.payment_id = ${payment.id}
    ORDER BY w.refund_id FOR UPDATE OF w`;
  return await tx.$queryRaw<NotSentRefund[]>`
    SELECT r.id, r.status::text, r.amount, r.currency
    FROM refund AS r LEFT JOIN refund_work AS w ON w.refund_id = r.id JOIN recovery AS s ON s.id = 1
    WHERE r.payment_id = ${payment.id} AND r.status IN ('pending', 'processing') AND is_not_sent(r, w, s)
    ORDER BY r.created_at, r.id`;
}

/** The failure of a refund in another currency than its payment; null when it has that of the payment. */
export function currencyProblem(
  { currency }: Pick<Refund, 'currency'>,
  facts: Pick<ProcessorPayment, 'currency'>,
): ProcessorFailure | null {
  if (currency === facts.currency) return null;
  const message = `The payment is in ${facts.currency.toUpperCase()}; pass currency "${facts.currency}".`;
  return { code: 'currency_mismatch', message };
}

/** The failure of a refund whose currency or amount the payment does not allow; null when it allows both. */
function problemOf(refund: NotSentRefund, facts: ProcessorPayment, left: bigint): ProcessorFailure | null {
  const problem = currencyProblem(refund, facts);
  if (problem !== null) return problem;
  if (refund.amount <= left) return null;
  if (left <= 0n)
    return { code: 'already_refunded', message: 'The payment has already been refunded in full.' };
  return {
    code: 'amount_too_large',
    message: `The payment has ${formatAmount(left, facts.currency)} left to refund, less than the requested amount.`,
  };
}

/** A refund that awaits approval is cancelled, any other fails. */
async function endNotSent(
  tx: DatabaseTransaction,
  refund: NotSentRefund,
  problem: ProcessorFailure,
): Promise<void> {
  const to = refund.status === 'pending' ? 'cancelled' : 'failed';
  const moved = await moveRefund(tx, {
    refund,
    from: refund.status,
    to,
    change: { failureCode: problem.code, failureMessage: problem.message },
    entry: { type: `refund.${to}`, actor: 'service', detail: { ...problem, sent: false } },
  });
  if (moved !== null) await endNotSentWork(tx, refund);
}

type ReadFacts = Pick<Extract<PaymentFacts, { kind: 'read' }>, 'facts' | 'readAt'>;

/**
 * Stores a payment that was just read.
 * @returns the stored payment; the facts as read where the row cannot store them.
 */
export async function recordKnown(
  { db }: { db: Database },
  key: PaymentKey,
  { facts, readAt }: ReadFacts,
): Promise<KnownPayment> {
  const recorded = await recordPayment(db, key, facts, readAt);
  return asKnown(recorded) ?? { ...recorded, ...knownFacts(facts) };
}

/**
 * A payment that was just read, as far as it concerns what can be refunded; stores nothing.
 * @param stored null when the id that it was read by is not stored.
 */
export async function knownUnrecorded(
  { db }: { db: Database },
  { id: accountId, organizationId, environment }: AccountName,
  stored: Payment | null,
  { facts, readAt }: ReadFacts,
): Promise<KnownPayment> {
  const { refunds } = facts;
  const unstored = {
    id: null,
    accountId,
    organizationId,
    environment,
    reserved: 0n,
    disputedAt: null,
    createdAt: readAt,
  };
  const row = stored ?? unstored;
  const outside = stored === null ? sumOfLive(refunds) : await refundedOutside(db, stored, refunds);
  return {
    ...row,
    ...knownFacts(facts),
    refundedOutside: outside,
    fetchedAt: readAt,
    staleSince: null,
  };
}

function knownFacts({
  transactionIds,
  amount,
  currency,
  chargedAt,
  hasTransfer,
  transferDestination,
  ...rest
}: ProcessorPayment) {
  return {
    externalId: transactionIds[0] ?? null,
    amount,
    currency,
    chargedAt,
    hasTransfer,
    transferDestination,
    hasApplicationFee: rest.applicationFee,
  };
}
