import type { Refund } from '../../platform/database.ts';
import { isFlaggedForExtra, type RefundWithWork } from '../model/refund.ts';
import { canMove, isTerminal } from '../model/states.ts';
import type { ResolvedStatus } from './evidence.ts';

/** Every end that a person can give a flagged refund. */
export const resolvedStatuses = ['completed', 'failed', 'cancelled'] as const satisfies ResolvedStatus[];

/** True when a person may end a flagged refund of this status like that. */
export function canBeResolved({ status: from }: Pick<Refund, 'status'>, to: ResolvedStatus): boolean {
  // A refund that waits for approval is approved or rejected.
  return from !== 'pending' && canMove(from, to);
}

/** True when a person may let a flagged refund stand as it is. */
export function canBeKept({ status, work }: Pick<RefundWithWork, 'status' | 'work'>): boolean {
  return isTerminal(status) || isFlaggedForExtra(work);
}
