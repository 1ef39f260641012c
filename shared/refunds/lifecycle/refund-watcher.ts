import { SharedWait } from '../../platform/concurrency/shared-wait.ts';
import type { Reads } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import { detailColumns, type RefundDetails, refundColumns } from '../model/refund.ts';

interface Waiter {
  refundId: string;
  isOver: (refund: WatchedRefund) => boolean;
  latest: WatchedRefund | null;
}

/** Waits for refunds to change. */
export class RefundWatcher extends SharedWait<Waiter> {
  /** @param closing ends all waiting. */
  constructor({ reads, log }: { reads: Reads; log: Logger }, closing: AbortSignal) {
    super({
      look: (round) => updateWaiters(reads, round),
      warning: 'looking for changed refunds failed; it will be repeated',
      ...{ log, closing },
    });
  }

  /** @returns the refund once `isOver` is true or the time is over, as last read; null when it could not be read. */
  async waitFor(
    refundId: string,
    isOver: (refund: WatchedRefund) => boolean,
    timeoutMs: number,
  ): Promise<WatchedRefund | null> {
    const waiter: Waiter = { refundId, isOver, latest: null };
    await this.wait(waiter, timeoutMs);
    return waiter.latest;
  }
}

async function updateWaiters(reads: Reads, round: readonly Waiter[]): Promise<Waiter[]> {
  const versions = new Map<string, string | null>();
  for (const { refundId, latest } of round) {
    const version = latest?.version ?? null;
    // Requests that have seen different versions all need the row.
    const isShared = !versions.has(refundId) || versions.get(refundId) === version;
    versions.set(refundId, isShared ? version : null);
  }
  const changed = new Map((await readChanged(reads, versions)).map((refund) => [refund.id, refund]));
  return round.filter((waiter) => {
    waiter.latest = changed.get(waiter.refundId) ?? waiter.latest;
    return waiter.latest !== null && waiter.isOver(waiter.latest);
  });
}

/** A refund that a request is waiting for. */
export type WatchedRefund = RefundDetails & {
  /** True while its cancellation is requested. */
  isToBeCancelled: boolean;
  /** Changes with every other field. */
  version: string;
};

/**
 * Reads the refunds that have changed.
 * @param versions the last read version by id; null for a refund that was not read yet.
 */
async function readChanged(
  reads: Reads,
  versions: ReadonlyMap<string, string | null>,
): Promise<WatchedRefund[]> {
  return await reads.query<WatchedRefund>(
    `SELECT ${refundColumns}, ${detailColumns}, is_to_be_cancelled AS "isToBeCancelled", now.version
     FROM unnest($1::text[], $2::text[]) AS seen(id, version)
     JOIN refund AS r ON r.id = seen.id
     LEFT JOIN refund_work AS w ON w.refund_id = r.id
     CROSS JOIN LATERAL (SELECT w.cancel_requested_at IS NOT NULL AS is_to_be_cancelled) AS asked
     CROSS JOIN LATERAL (SELECT concat_ws(' ', r.xmin, is_to_be_cancelled) AS version) AS now
     WHERE now.version IS DISTINCT FROM seen.version`,
    [[...versions.keys()], [...versions.values()]],
  );
}
