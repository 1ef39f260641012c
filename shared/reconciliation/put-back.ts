import { lockPayment, lockPaymentOf, type PaymentKey } from '../payments/payment.ts';
import { type DatabaseTransaction, type Refund, serviceTime } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import { isLive, type ListedRefund, type ProcessorPayment } from '../processors/contract/processor.ts';
import type { CreationItem } from '../refunds/lifecycle/create.ts';
import { type Move, moveRefund } from '../refunds/lifecycle/move.ts';
import { recordPayment, sumOfLive } from '../refunds/lifecycle/record-payment.ts';
import { lockWork, startWork } from '../refunds/lifecycle/work.ts';
import { processorFacts } from '../refunds/model/flags.ts';
import { type RowJson, refundFrom, toItems } from '../refunds/model/rows.ts';
import { matchOf } from './compare.ts';
import { recordFinding } from './findings.ts';
import { findCandidates, findPaymentIds, findRecordedIds } from './our-refunds.ts';
import { type RunContext, readWithRetries } from './read-processor.ts';

/** A payment as it was just read. */
interface ReadPayment {
  key: PaymentKey;
  facts: ProcessorPayment;
  readAt: Date;
}

/** True for a refund that the processor has under a name of ours that is not on record. */
export function isOffRecord({ refundId }: ListedRefund, recordedIds: ReadonlySet<string>): boolean {
  return refundId !== null && !recordedIds.has(refundId);
}

/**
 * Puts back the refunds of a payment that were made after the backup from which the database was restored: those of ours that the
 * processor has and the database does not, and those that still await approval here. A worker then reads how they ended. Each is a
 * finding of the run; one that cannot be put back needs attention.
 * @param listed refunds of the payment from the account's list: a payment may leave out those that failed.
 */
export async function putBackRefunds(
  context: RunContext,
  transactionId: string,
  listed: readonly ListedRefund[],
): Promise<void> {
  const { deps, account, processor } = context;
  const readAt = await serviceTime(deps.db);
  const answer = await readWithRetries(context, (options) => processor.getPayment(transactionId, options));
  const facts = answer.kind === 'found' ? answer.value : null;
  const payment = facts && { key: { ...account, transactionId }, facts, readAt };
  const refunds = inOrder(facts, listed);
  const recordedIds = await findRecordedIds(deps.db, refunds);
  for (const theirs of refunds) {
    const ours = matchOf(theirs, await findCandidates(deps.db, account, [theirs]));
    if (ours === null && isOffRecord(theirs, recordedIds)) {
      const id = payment && (await insertRefund(context, payment, theirs));
      await noteFinding(context, transactionId, theirs, id);
    } else if (ours?.status === 'pending') {
      await approveSent(context, ours, theirs);
      await noteFinding(context, transactionId, theirs, ours.id);
    }
  }
}

/** Oldest first, after those without a reservation: as long as the others count as refunded outside, there is room for them. */
function inOrder(facts: ProcessorPayment | null, listed: readonly ListedRefund[]): ListedRefund[] {
  const { refunds = [], transactionIds = [] } = facts ?? {};
  const read = refunds.toReversed().map((refund) => ({ ...refund, transactionIds }));
  const known = new Set(read.map(({ id }) => id));
  return [...listed.filter(({ id }) => !known.has(id)), ...read]
    .filter(({ refundId }) => refundId !== null)
    .toSorted((a, b) => Number(isLive(a)) - Number(isLive(b)));
}

async function noteFinding(
  context: RunContext,
  transactionId: string,
  theirs: ListedRefund,
  refundId: string | null,
): Promise<void> {
  const finding = { kind: 'not_on_record', refundId, transactionId, facts: processorFacts(theirs) } as const;
  await recordFinding(context, finding, refundId === null ? 'nothing' : 'put_back');
}

/** @returns its id; null when the payment has no room for it, and nothing was stored. */
async function insertRefund(
  { deps, run }: RunContext,
  { key, facts, readAt }: ReadPayment,
  theirs: ListedRefund,
): Promise<string | null> {
  const { db } = deps;
  const { organizationId, environment, processor } = key;
  const id = theirs.refundId ?? '';
  const refunds = facts.refunds.filter((other) => other.id !== theirs.id);
  const [stored] = (await findPaymentIds(db, key, facts.transactionIds)).keys();
  const named = { ...key, transactionId: stored ?? key.transactionId };
  if (stored !== undefined) await recordPayment(db, named, { ...facts, refunds }, readAt);
  const unstored = { ...facts, refundedOutside: sumOfLive(refunds), fetchedAt: null };
  return await db.$transaction(async (tx) => {
    if (stored !== undefined) await lockPayment(tx, named);
    const refund = await create(tx, {
      ...{ id, amount: theirs.amount, currency: theirs.currency, idempotencyKey: theirs.requestDigest },
      ...{ organizationId, environment, processor, transactionId: named.transactionId },
      // The processor does not keep what else was requested.
      ...{ reason: 'other', initiatedBy: 'api', metadata: null, status: 'processing', actor: run.actor },
      eventId: newId('evt'),
      payment: stored === undefined ? unstored : null,
    });
    if (refund === null) return null;
    await moveRefund(tx, asSent(refund, theirs, run.actor));
    return refund.id;
  });
}

async function create(tx: DatabaseTransaction, item: CreationItem): Promise<Refund | null> {
  const [row] = await tx.$queryRaw<{ outcome: string; refund: RowJson }[]>`
    SELECT outcome, refund FROM create_refunds(${toItems([item])}::jsonb)`;
  return row?.outcome === 'created' ? refundFrom(row.refund) : null;
}

/** It was approved and sent after the backup. */
async function approveSent({ deps, run }: RunContext, ours: Refund, theirs: ListedRefund): Promise<void> {
  await deps.db.$transaction(async (tx) => {
    await lockPaymentOf(tx, ours);
    await lockWork(tx, ours);
    const moved = await moveRefund(tx, asSent(ours, theirs, run.actor));
    if (moved !== null) await startWork(tx, ours);
  });
}

/** The processor has it, so the next step reads how it ended. */
function asSent(refund: Refund, { id, processorStatus }: ListedRefund, actor: string): Move {
  return {
    refund,
    from: refund.status,
    to: 'processing',
    change: { externalRefundId: id, processorStatus },
    entry: {
      type: refund.status === 'pending' ? 'refund.processing' : 'recovery.put_back',
      actor,
      detail: { recovered: true, externalRefundId: id },
    },
  };
}
