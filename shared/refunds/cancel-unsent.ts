import type { Clock } from '../clock.ts';
import type { DatabaseTransaction, Refund } from '../db.ts';
import { surelyUnsent } from './surely-unsent.ts';
import { transition } from './transition.ts';

/**
 * Cancels a refund that surely is not at its processor: it waits for approval, was never sent, or its last attempt was
 * surely not applied and no attempt is running.
 * @param actor of the timeline's entry.
 * @returns the refund as it is now, or null when that is not sure, or not any more, and nothing was changed.
 */
export async function cancelUnsent(
  tx: DatabaseTransaction,
  clock: Clock,
  refund: Refund,
  actor: string,
): Promise<Refund | null> {
  const { status } = refund;
  if (status !== 'pending' && status !== 'processing') return null;
  return await transition(tx, clock, {
    refund,
    from: status,
    to: 'cancelled',
    // An attempt writes `unknownSince` before it starts, so a running one is seen here, whatever became of its worker.
    guard: surelyUnsent,
    changes: { cancelRequestedAt: null },
    entry: { type: 'refund.cancelled', actor, detail: { sent: false } },
  });
}
