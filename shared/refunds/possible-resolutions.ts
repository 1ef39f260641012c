import type { Refund } from '../db.ts';
import type { ResolvedStatus } from './evidence.ts';
import { isFlaggedForExtra } from './flag.ts';
import { canMove, isTerminal } from './states.ts';

/** Every end that a person can give a flagged refund. */
export const resolvedStatuses = ['completed', 'failed', 'cancelled'] as const satisfies ResolvedStatus[];

/** True when a person may end a flagged refund of this status like that. */
export function canBeResolved({ status: from }: Pick<Refund, 'status'>, to: ResolvedStatus): boolean {
  // A refund that waits for approval is approved or rejected.
  return from !== 'pending' && canMove(from, to);
}

/** True when a person may let a flagged refund stand as it is. */
export function canBeKept(refund: Pick<Refund, 'status' | 'extraRefundId'>): boolean {
  return isTerminal(refund.status) || isFlaggedForExtra(refund);
}
