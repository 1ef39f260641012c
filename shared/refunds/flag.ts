import type { Refund } from '../db.ts';

type Flagged = Pick<Refund, 'flaggedAt' | 'extraRefundId'>;

/** True while a refund is flagged for something of its own, which ends when the processor agrees again. */
export function hasOwnFlag({ flaggedAt, extraRefundId }: Flagged): boolean {
  return flaggedAt !== null && extraRefundId === null;
}

/**
 * True while a refund is flagged for another one that the processor has under its name. Such a flag ends by a person alone,
 * and whatever else is wrong is told after it.
 */
export function isFlaggedForExtra({ extraRefundId }: Pick<Refund, 'extraRefundId'>): boolean {
  return extraRefundId !== null;
}
