import type { Reads } from '../../platform/database.ts';
import { detailColumns, type RefundDetails, refundColumns } from '../model/refund.ts';

interface Waiter {
  refundId: string;
  isOver: (refund: WatchedRefund) => boolean;
  latest: WatchedRefund | null;
  resolve: (latest: WatchedRefund | null) => void;
  /** One per waiter, so that a hanging database delays no waiter beyond the requested time. */
  timer: NodeJS.Timeout;
}

const pollIntervalMs = 25;

/** Waits for refunds to change: one query per round for all waiting requests. Events of the queue could be lost. */
export class RefundWatcher {
  readonly #reads: Reads;
  readonly #waiters = new Set<Waiter>();
  #polling = false;
  #closed = false;

  constructor(reads: Reads) {
    this.#reads = reads;
  }

  /** @returns the refund once `isOver` holds or the time is over, as last read; null when it could not be read. */
  async waitFor(
    refundId: string,
    isOver: (refund: WatchedRefund) => boolean,
    timeoutMs: number,
  ): Promise<WatchedRefund | null> {
    if (timeoutMs <= 0 || this.#closed) return null;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => this.#dismiss(waiter), timeoutMs);
      const waiter: Waiter = { refundId, isOver, latest: null, resolve, timer };
      this.#waiters.add(waiter);
      if (!this.#polling) void this.#poll();
    });
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Answers all waiting requests with what was last read. Later requests do not wait. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) this.#dismiss(waiter);
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    while (this.#waiters.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, pollIntervalMs));
      // Requests that arrive during the query are in the next round.
      const round = [...this.#waiters];
      const refunds = await this.#read(round);
      for (const waiter of round) {
        waiter.latest = refunds.get(waiter.refundId) ?? waiter.latest;
        if (waiter.latest !== null && waiter.isOver(waiter.latest)) this.#dismiss(waiter);
      }
    }
    this.#polling = false;
  }

  /** A failed read is repeated in the next round. */
  async #read(round: readonly Waiter[]): Promise<Map<string, WatchedRefund>> {
    const versions = new Map<string, string | null>();
    for (const { refundId, latest } of round) {
      const version = latest?.version ?? null;
      // Requests that have seen different versions all need the row.
      const isShared = !versions.has(refundId) || versions.get(refundId) === version;
      versions.set(refundId, isShared ? version : null);
    }
    try {
      const rows = await readChanged(this.#reads, versions);
      return new Map(rows.map((refund) => [refund.id, refund]));
    } catch {
      return new Map();
    }
  }

  #dismiss(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    this.#waiters.delete(waiter);
    waiter.resolve(waiter.latest);
  }
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
