import type { Refund } from '../shared/db.ts';
import { cancelRefund } from '../shared/refunds/cancel-refund.ts';
import type { ApiDependencies } from './dependencies.ts';

/**
 * What became of a request to cancel, for somebody who waits for the verdict.
 * - `cancelled`: the processor confirmed it, or never hears of it.
 * - `refused`: the refund has ended otherwise, or the processor does not take it back.
 * - `undecided`: the processor has not confirmed in time; the refund tells later.
 */
export interface CancelVerdict {
  kind: 'cancelled' | 'refused' | 'undecided';
  /** As last seen. */
  refund: Refund;
}

/** Asks for a refund to be cancelled, and waits for the processor's word where it takes one. */
export async function cancelAndWait(
  deps: ApiDependencies,
  refund: Refund,
  actor: string,
  waitMs: number,
): Promise<CancelVerdict> {
  const request = await cancelRefund(deps, refund, actor);
  if (request.kind !== 'asked') return request;
  const latest = (await deps.watcher.waitFor(refund.id, isDecided, waitMs)) ?? request.refund;
  if (latest.status === 'cancelled') return { kind: 'cancelled', refund: latest };
  return { kind: isDecided(latest) ? 'refused' : 'undecided', refund: latest };
}

/** The worker takes the request away when the processor has refused it. */
function isDecided({ status, cancelRequestedAt }: Refund): boolean {
  return status !== 'processing' || cancelRequestedAt === null;
}
