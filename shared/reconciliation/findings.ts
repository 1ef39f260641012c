import type { DatabaseTransaction, Refund } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import { flagExtraRefund, wasSettled } from '../refunds/changes/flag.ts';
import { requestResync } from '../refunds/changes/work.ts';
import type { Facts, FindingKind } from '../refunds/model/flags.ts';
import type { Discrepancy } from './compare.ts';
import type { RunContext } from './read-processor.ts';
import { keepRun } from './runs.ts';

/**
 * What was done about a finding. Nothing is ever created, cancelled or sent.
 * - `payment_read`: the payment was read again, so what can still be refunded of it is up to date.
 * - `resync_requested`: a worker reads the refund again, and records or flags what it finds.
 * - `flagged`: the refund was flagged.
 * - `put_back`: the refund was put back on record, in a recovery.
 * - `dismissed`: a person has resolved or dismissed the same discrepancy before.
 * - `nothing`: nothing had to be done.
 */
type FindingAction = 'payment_read' | 'resync_requested' | 'flagged' | 'put_back' | 'dismissed' | 'nothing';

const kindsForAttention: ReadonlySet<string> = new Set<FindingKind>([
  'missing_there',
  'amount_differs',
  'moved_after_end',
  'extra_refund',
  'not_on_record',
]);

/** True when a person has to act on a finding: reading the refund again does not settle it. */
export function needsAttention({ kind, action }: { kind: string; action: string }): boolean {
  return kindsForAttention.has(kind) && action !== 'dismissed' && action !== 'put_back';
}

/** What is recorded of a finding. */
interface Finding {
  kind: FindingKind;
  refundId: string | null;
  transactionId: string | null;
  facts: Facts;
}

/** Acts on a discrepancy of one of our refunds and records it, in one database transaction. */
export async function recordDiscrepancy(
  context: RunContext,
  { id }: Pick<Refund, 'id'>,
  discrepancy: Discrepancy,
): Promise<void> {
  const { deps } = context;
  const refund = await deps.db.$transaction(async (tx) => {
    const current = await tx.refund.findUniqueOrThrow({ where: { id } });
    const finding = { ...discrepancy, refundId: id, transactionId: current.transactionId };
    await insertFinding(tx, context, finding, await act(tx, context, discrepancy, current));
    return current;
  });
  deps.queues.wake(refund.processor);
}

/** Records a finding that changes none of our refunds. */
export async function recordFinding(
  context: RunContext,
  finding: Finding,
  action: FindingAction,
): Promise<void> {
  await context.deps.db.$transaction((tx) => insertFinding(tx, context, finding, action));
}

async function insertFinding(
  tx: DatabaseTransaction,
  { deps, run }: RunContext,
  finding: Finding,
  action: FindingAction,
): Promise<void> {
  await keepRun(tx, deps.settings, run);
  const externalRefundId = finding.facts.externalRefundId ?? null;
  const data = { id: newId('fin'), runId: run.id, action, externalRefundId, ...finding };
  await tx.reconciliationFinding.create({ data });
}

async function act(
  tx: DatabaseTransaction,
  { run }: RunContext,
  { kind, facts }: Discrepancy,
  refund: Refund,
): Promise<FindingAction> {
  if (kindsForAttention.has(kind) && (await wasSettled(tx, refund.id, { reason: kind, facts }))) {
    return 'dismissed';
  }
  if (kind === 'extra_refund') {
    // One at a time: while the refund is flagged for one, the next is only reported, and flagged by a later run.
    await flagExtraRefund(tx, refund, facts, run.actor);
    return 'flagged';
  }
  await requestResync(tx, refund);
  return 'resync_requested';
}
