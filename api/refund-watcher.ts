import type { Reads } from '../shared/db.ts';
import { readChanged, type WatchedRefund } from '../shared/refunds/find-refunds.ts';

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
