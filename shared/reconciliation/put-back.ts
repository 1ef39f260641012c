import { forgetPayment, joinPayments, lockPayment } from '../payments/payment.ts';
import { type DatabaseTransaction, type Refund, serviceTime } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import type { AccountName } from '../processors/accounts/account.ts';
import { isLive, type ListedRefund, type ProcessorPayment } from '../processors/contract/processor.ts';
import { type Move, moveRefund } from '../refunds/changes/move.ts';
import { recordPayment } from '../refunds/changes/record-payment.ts';
import { startWork } from '../refunds/changes/work.ts';
import type { CreationItem } from '../refunds/lifecycle/create.ts';
import { processorFacts } from '../refunds/model/flags.ts';
import { type RowJson, refundFrom, toItems } from '../refunds/model/rows.ts';
import { matchOf } from './compare.ts';
import { recordFinding } from './findings.ts';
import { findCandidates, findPaymentsAwaitingApproval, findRecordedIds } from './our-refunds.ts';
import { type RunContext, readWithRetries, stopIfAborted } from './read-processor.ts';

/** True for a refund that another organization made through the same account at the processor, of this installation or another one. */
export function isOfAnother({ organizationId }: ListedRefund, account: AccountName): boolean {
  return organizationId !== undefined && organizationId !== account.organizationId;
}

/** True for a refund that the processor has under a name of the account's organization that is not on record. */
export function isOffRecord(
  theirs: ListedRefund,
  account: AccountName,
  recordedIds: ReadonlySet<string>,
): boolean {
  const { refundId } = theirs;
  return refundId !== null && !recordedIds.has(refundId) && !isOfAnother(theirs, account);
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
  const refunds = ofOurs(facts, listed);
  const recordedIds = await findRecordedIds(deps.db, refunds);
  const isLost = (theirs: ListedRefund) => isOffRecord(theirs, account, recordedIds);
  // Refunds that await approval here come first: a payment that is read again has no room for them. Then come those that reserve money. Of
  // several under one name, the first is put back.
  const inOrder = refunds.toSorted(
    (a, b) => Number(isLost(a)) - Number(isLost(b)) || Number(isLive(b)) - Number(isLive(a)),
  );
  for (const theirs of inOrder) {
    const ours = matchOf(theirs, await findCandidates(deps.db, account, [theirs]));
    if (ours === null && isLost(theirs)) {
      const id = facts && (await insertRefund(context, transactionId, facts, theirs));
      await noteFinding(context, transactionId, theirs, id);
    } else if (ours?.status === 'pending') {
      await approveSent(context, ours, theirs);
      await noteFinding(context, transactionId, theirs, ours.id);
    }
  }
  if (facts !== null) await recordPayment(deps.db, { accountId: account.id, transactionId }, facts, readAt);
}

/** Refunds that await approval here may have been approved and sent after the backup, too recently for the list. */
export async function putBackApproved(context: RunContext): Promise<void> {
  for (const transactionId of await findPaymentsAwaitingApproval(context.deps.db, context.account)) {
    stopIfAborted(context.signal);
    await putBackRefunds(context, transactionId, []);
  }
}

/** The refunds of a payment that carry a name of ours, oldest first. */
function ofOurs(facts: ProcessorPayment | null, listed: readonly ListedRefund[]): ListedRefund[] {
  const { refunds = [], transactionIds = [] } = facts ?? {};
  const read = refunds.toReversed().map((refund) => ({ ...refund, transactionIds }));
  const known = new Set(read.map(({ id }) => id));
  return [...listed.filter(({ id }) => !known.has(id)), ...read].filter(({ refundId }) => refundId !== null);
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

/** @returns its id; null when nothing was stored, as while another request uses its idempotency key. */
async function insertRefund(
  { deps: { db }, account, run }: RunContext,
  transactionId: string,
  { transactionIds }: ProcessorPayment,
  { refundId, amount, currency, requestDigest: idempotencyKey, ...theirs }: ListedRefund,
): Promise<string | null> {
  const { id: accountId, organizationId, environment, processor, parentId } = account;
  const key = { accountId, transactionId };
  await joinPayments(db, key, transactionIds);
  return await db.$transaction(async (tx) => {
    // Whoever has read the payment counts the refund as made elsewhere, and would leave no room for it.
    await forgetPayment(tx, await lockPayment(tx, key));
    const item: CreationItem = {
      ...{ ...key, organizationId, environment, processor, isConnected: parentId !== null },
      ...{ id: refundId ?? '', amount, currency, idempotencyKey, eventId: newId('evt'), actor: run.actor },
      // The processor does not keep what else was requested.
      ...{ reason: 'other', initiatedBy: 'api', metadata: null, status: 'processing' },
    };
    const first = await create(tx, item);
    // Another request has used its key since the restore.
    const isReused = first.outcome === 'reused';
    const { outcome, refund } = isReused ? await create(tx, { ...item, idempotencyKey: null }) : first;
    if (outcome !== 'created') return null;
    const made = refundFrom(refund);
    await moveRefund(tx, asSent(made, theirs, run.actor));
    return made.id;
  });
}

async function create(
  tx: DatabaseTransaction,
  item: CreationItem,
): Promise<{ outcome: string; refund: RowJson }> {
  const [row] = await tx.$queryRaw<{ outcome: string; refund: RowJson }[]>`
    SELECT outcome, refund FROM create_refunds(${toItems([item])}::jsonb)`;
  if (row === undefined) throw new Error('create_refunds left out an item.');
  return row;
}

/** It was approved and sent after the backup. */
async function approveSent({ deps, run }: RunContext, ours: Refund, theirs: ListedRefund): Promise<void> {
  await deps.db.$transaction(async (tx) => {
    const moved = await moveRefund(tx, asSent(ours, theirs, run.actor));
    if (moved !== null) await startWork(tx, ours);
  });
}

/** The processor has it, so the next step reads how it ended. */
function asSent(
  refund: Refund,
  { id, processorStatus }: Pick<ListedRefund, 'id' | 'processorStatus'>,
  actor: string,
): Move {
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
