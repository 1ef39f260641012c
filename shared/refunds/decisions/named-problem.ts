import type { DatabaseTransaction, RefundWork } from '../../platform/database.ts';
import { keptEvent } from './person-decisions.ts';

// What a person has decided is read from the refund's timeline, which nobody can change and which outlasts the findings.

/** The event of a worker that flags a refund after a review, always for the refund's own sake. */
export const reviewFlaggedEvent = 'review.flagged';

/**
 * A difference by what stays the same when its words change. Reconciliation and reviews call a problem by the same name,
 * so that what a person has let stand is silent in both.
 */
export interface NamedProblem {
  /** A kind of difference that reconciliation tells apart. */
  kind: string;
  externalRefundId: string;
}

/** What a refund's flag is about; null when it is not for what the processor has of a refund that has ended here. */
export async function nameProblem(
  tx: DatabaseTransaction,
  { refundId, flagReason, extraRefundId }: Pick<RefundWork, 'refundId' | 'flagReason' | 'extraRefundId'>,
): Promise<NamedProblem | null> {
  if (extraRefundId !== null) return { kind: 'extra_refund', externalRefundId: extraRefundId };
  const flagged = await tx.refundEvent.findFirst({
    where: { refundId, type: reviewFlaggedEvent, detail: { path: ['reason'], equals: flagReason ?? '' } },
    orderBy: { seq: 'desc' },
  });
  const { kind, externalRefundId } = (flagged?.detail ?? {}) as Partial<NamedProblem>;
  return kind === undefined || externalRefundId === undefined ? null : { kind, externalRefundId };
}

/**
 * True when a person has let this problem stand and nothing has happened since that makes it another one: no review has
 * flagged the refund again, and its status is the same.
 */
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
    where: {
      refundId,
      OR: [
        { type: keptEvent, AND: isAboutIt },
        { type: reviewFlaggedEvent },
        { previousStatus: { not: null } },
      ],
    },
    orderBy: { seq: 'desc' },
  });
  return last?.type === keptEvent;
}
