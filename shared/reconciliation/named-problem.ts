import type { DatabaseTransaction, Refund } from '../db.ts';
import { keptEvent } from '../refunds/person-decisions.ts';
import { type DifferenceKind, differenceKinds } from './compare.ts';

// What a person has decided is read from the refund's timeline, which nobody can change and which outlasts the findings.

/** The event of a worker that flags a refund after a review, always for the refund's own sake. */
const reviewFlaggedEvent = 'review.flagged';

/** A difference for a person, by what stays the same when its words change. */
export interface NamedProblem {
  kind: DifferenceKind;
  /** The processor's refund that it is about. */
  externalRefundId: string;
}

const kindsForPeople = Object.entries(differenceKinds)
  .filter(([, { needsPerson }]) => needsPerson)
  .map(([kind]) => kind);

/** What a refund's flag is about, as reconciliation has told it; null when it has told nothing of it. */
export async function nameProblem(
  tx: DatabaseTransaction,
  { id: refundId, extraRefundId }: Pick<Refund, 'id' | 'extraRefundId'>,
): Promise<NamedProblem | null> {
  if (extraRefundId !== null) return { kind: 'extra_refund', externalRefundId: extraRefundId };
  // A worker has flagged it, after a review that a run may have asked for.
  const found = await tx.reconciliationFinding.findFirst({
    where: { refundId, action: 'review_requested', kind: { in: kindsForPeople } },
    orderBy: { run: { startedAt: 'desc' } },
  });
  if (found === null || found.externalRefundId === null) return null;
  return { kind: found.kind as DifferenceKind, externalRefundId: found.externalRefundId };
}

/** True when a person has let this problem stand, and no review has flagged the refund again since. */
export async function isLetStand(
  tx: DatabaseTransaction,
  refundId: string,
  { kind, externalRefundId }: NamedProblem,
): Promise<boolean> {
  const isAboutIt = [
    { detail: { path: ['kind'], equals: kind } },
    { detail: { path: ['externalRefundId'], equals: externalRefundId } },
  ];
  const last = await tx.refundEvent.findFirst({
    where: { refundId, OR: [{ type: keptEvent, AND: isAboutIt }, { type: reviewFlaggedEvent }] },
    orderBy: { seq: 'desc' },
  });
  return last?.type === keptEvent;
}
