import type { ReadRefund, WatchedRefund } from '../shared/refunds/find-refunds.ts';
import { type Cancellation, cancelRefund } from '../shared/refunds/lifecycle/cancel.ts';
import type { ApiDependencies } from './dependencies.ts';

/**
 * What became of a request to cancel, for a client who waits for the verdict.
 * - `cancelled`: the processor confirmed it, or never hears of it.
 * - `refused`: the refund has ended otherwise, or the processor does not take it back.
 * - `undecided`: the processor has not confirmed in time; the refund tells later.
 */
export interface CancelVerdict {
  kind: 'cancelled' | 'refused' | 'undecided';
  /** As last seen. */
  refund: ReadRefund;
  isReplayed: boolean;
}

/**
 * Asks for a refund to be cancelled, and waits for the processor's word where it takes one.
 * @throws ServiceError as `cancelRefund` does.
 */
export async function cancelAndWait(
  deps: ApiDependencies,
  asked: Cancellation,
  waitMs: number,
): Promise<CancelVerdict> {
  const { kind, refund, isReplayed } = await cancelRefund(deps, asked);
  if (kind !== 'asked') return { kind, refund, isReplayed };
  const latest = await deps.watcher.waitFor(refund.id, isDecided, waitMs);
  if (latest === null) return { kind: 'undecided', refund, isReplayed };
  if (latest.status === 'cancelled') return { kind: 'cancelled', refund: latest, isReplayed };
  return { kind: isDecided(latest) ? 'refused' : 'undecided', refund: latest, isReplayed };
}

/** The worker takes the request away when the processor has refused it. */
function isDecided({ status, isToBeCancelled }: WatchedRefund): boolean {
  return status !== 'processing' || !isToBeCancelled;
}
