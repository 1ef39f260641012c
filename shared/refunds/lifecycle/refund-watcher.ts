import type { Reads, Refund } from '../../platform/database.ts';
import { type ReadRefund, refundColumns } from '../model/refund.ts';

interface Waiter {
  refundId: string;
  isOver: (refund: WatchedRefund) => boolean;
  latest: WatchedRefund | null;
  resolve: (latest: WatchedRefund | null) => void;
  /** Of its own, because a database that hangs must not make anybody wait for longer than asked. */
  timer: NodeJS.Timeout;
}

const pollIntervalMs = 25;

/**
 * Waits for refunds to change, for all requests of a process with one query per round. The queue could tell sooner,
 * but its events get lost; the database has the truth.
 */
export class RefundWatcher {
  readonly #reads: Reads;
  readonly #waiters = new Set<Waiter>();
  #polling = false;
  #closed = false;

  constructor(reads: Reads) {
    this.#reads = reads;
  }

  /**
   * Waits until `isOver` holds or the time is over.
   * @returns the refund as last seen; null when it could not be read at all in that time.
   */
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

  /** How many wait at the moment. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Lets everybody go who still waits, with what is known; from now on nobody has to wait. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) this.#dismiss(waiter);
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    while (this.#waiters.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, pollIntervalMs));
      // Waiters that came while the query ran are asked about in the next round.
      const round = [...this.#waiters];
      const refunds = await this.#read(round);
      for (const waiter of round) {
        waiter.latest = refunds.get(waiter.refundId) ?? waiter.latest;
        if (waiter.latest !== null && waiter.isOver(waiter.latest)) this.#dismiss(waiter);
      }
    }
    this.#polling = false;
  }

  /** A database that does not answer for a moment is asked again in the next round. */
  async #read(round: readonly Waiter[]): Promise<Map<string, WatchedRefund>> {
    const versions = new Map<string, string | null>();
    for (const { refundId, latest } of round) {
      const version = latest?.version ?? null;
      // Waiters that have seen different versions all need the row.
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

/** A refund that a request waits for. */
export type WatchedRefund = ReadRefund &
  Pick<Refund, 'failureCode' | 'failureMessage'> & {
    /** True while the processor is to be asked to cancel it. */
    isToBeCancelled: boolean;
    /** Changes with any of these. */
    version: string;
  };

/**
 * Reads those of the refunds that requests wait for which have changed.
 * @param versions by id: the one that was seen last, null for a refund that has not been seen yet.
 */
async function readChanged(
  reads: Reads,
  versions: ReadonlyMap<string, string | null>,
): Promise<WatchedRefund[]> {
  return await reads.query<WatchedRefund>(
    `SELECT ${refundColumns}, r.failure_code AS "failureCode", r.failure_message AS "failureMessage",
       is_to_be_cancelled AS "isToBeCancelled", now.version
     FROM unnest($1::text[], $2::text[]) AS seen(id, version)
     JOIN refund AS r ON r.id = seen.id
     LEFT JOIN refund_work AS w ON w.refund_id = r.id
     CROSS JOIN LATERAL (SELECT w.cancel_requested_at IS NOT NULL AS is_to_be_cancelled) AS asked
     CROSS JOIN LATERAL (SELECT concat_ws(' ', r.xmin, is_to_be_cancelled) AS version) AS now
     WHERE now.version IS DISTINCT FROM seen.version`,
    [[...versions.keys()], [...versions.values()]],
  );
}
