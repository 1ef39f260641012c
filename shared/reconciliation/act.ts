import type { DatabaseTransaction, Refund } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import { isLetStand } from '../refunds/decisions/named-problem.ts';
import { wasExtraDealtWith } from '../refunds/decisions/person-decisions.ts';
import { flagExtraRefund } from '../refunds/lifecycle/flag.ts';
import { requestResync } from '../refunds/lifecycle/resync.ts';
import type { RunContext } from './ask-patiently.ts';
import { type Difference, type DifferenceKind, differenceKinds } from './compare.ts';
import { keepRun } from './run-record.ts';

/**
 * What was done about a difference. Nothing is ever created, cancelled or sent.
 * - `payment_read`: the payment was read again, so that what can still be refunded of it is right.
 * - `review_requested`: a worker reads the refund again and decides; what it cannot decide, it flags for a person.
 * - `flagged`: the refund is flagged for a person.
 * - `dealt_with`: a person was told of it before, perhaps in other words, and has let it stand.
 * - `nothing`: nothing has to be done.
 */
export type DifferenceAction = 'payment_read' | 'review_requested' | 'flagged' | 'dealt_with' | 'nothing';

/** The event of a run that flags a refund by itself. */
const flaggedEvent = 'reconciliation.flagged';

/** What goes on record of a difference. */
export interface FindingRecord {
  kind: DifferenceKind;
  refundId: string | null;
  transactionId: string | null;
  externalRefundId: string | null;
  message: string;
}

/** True when a person has to act on a finding. */
export function needsPerson({ kind, action }: { kind: string; action: string }): boolean {
  const isKnown = Object.hasOwn(differenceKinds, kind);
  return action !== 'dealt_with' && isKnown && differenceKinds[kind as DifferenceKind].needsPerson;
}

/** The kinds of findings on which a person has to act, unless they were dealt with. */
export const kindsForPerson: readonly string[] = Object.entries(differenceKinds)
  .filter(([, kind]) => kind.needsPerson)
  .map(([name]) => name);

/** Acts on a difference about a refund of ours and puts it on record, in one database transaction. */
export async function recordDifference(context: RunContext, difference: Difference): Promise<void> {
  const { deps } = context;
  const refund = await deps.db.$transaction(async (tx) => {
    const current = await tx.refund.findUniqueOrThrow({ where: { id: difference.refundId } });
    await insertFinding(tx, context, difference, await act(tx, context, difference, current));
    return current;
  });
  deps.queues.enqueue(refund);
}

/** Puts a difference about which the refunds here need not change on record. */
export async function recordFinding(
  context: RunContext,
  finding: FindingRecord,
  action: DifferenceAction,
): Promise<void> {
  await context.deps.db.$transaction((tx) => insertFinding(tx, context, finding, action));
}

async function insertFinding(
  tx: DatabaseTransaction,
  { deps, run }: RunContext,
  { kind, refundId, transactionId, externalRefundId, message }: FindingRecord,
  action: DifferenceAction,
): Promise<void> {
  await keepRun(tx, deps.settings, run);
  await tx.reconciliationFinding.create({
    data: {
      id: newId('fin'),
      runId: run.id,
      kind,
      action,
      refundId,
      transactionId,
      externalRefundId,
      message,
    },
  });
}

async function act(
  tx: DatabaseTransaction,
  context: RunContext,
  difference: Difference,
  refund: Refund,
): Promise<DifferenceAction> {
  if (differenceKinds[difference.kind].needsPerson && (await isDealtWith(tx, difference, refund))) {
    return 'dealt_with';
  }
  if (difference.kind === 'extra_refund') return await flag(tx, context, difference, refund);
  await requestResync(tx, refund);
  return 'review_requested';
}

/** True when a person has let the problem stand. */
async function isDealtWith(
  tx: DatabaseTransaction,
  difference: Difference,
  { id }: Refund,
): Promise<boolean> {
  if (difference.kind === 'extra_refund') {
    return await wasExtraDealtWith(tx, id, difference.externalRefundId);
  }
  return await isLetStand(tx, id, difference);
}

/** One at a time: while a person has not dealt with one, the next is told by the report, and flagged by a later run. */
async function flag(
  tx: DatabaseTransaction,
  { run }: RunContext,
  { kind, message, externalRefundId }: Difference,
  refund: Refund,
): Promise<DifferenceAction> {
  const entry = {
    type: flaggedEvent,
    actor: run.actor,
    detail: { reason: message, kind, externalRefundId },
  } as const;
  await flagExtraRefund(tx, refund, { reason: message, extraRefundId: externalRefundId }, entry);
  return 'flagged';
}
