import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, warnSparingly } from '../log.ts';

/** The pauses between queries: short while a request has just begun to wait, because most are answered soon. */
const shortestPauseMs = 8;
const longestPauseMs = 50;
/** A pause is this part of the time that the latest request has waited. */
const pauseShare = 1 / 8;

/** The pause after a query that failed. */
const failurePauseMs = 250;

export interface SharedWaitOptions<Waiter> {
  /**
   * Checks the waiters of a round, and may update them.
   * @returns those that have waited long enough.
   */
  look(round: readonly Waiter[]): Promise<readonly Waiter[]>;
  log: Logger;
  /** For the log, when a query fails. */
  warning: string;
  /** Ends all waiting. */
  closing: AbortSignal;
}

/** Requests that wait for the database to change: one query per round for all of them. Events of the queue could be lost. */
export class SharedWait<Waiter extends object> {
  readonly #look: SharedWaitOptions<Waiter>['look'];
  readonly #warn: (error: unknown) => void;
  readonly #closing: AbortSignal;
  readonly #ends = new Map<Waiter, () => void>();
  #isPolling = false;
  #latestWaitSince = 0;

  constructor({ look, log, warning, closing }: SharedWaitOptions<Waiter>) {
    this.#look = look;
    this.#warn = warnSparingly(log, warning);
    this.#closing = closing;
    closing.addEventListener('abort', () => {
      for (const end of this.#ends.values()) end();
    });
  }

  /** Resolves when the waiter has waited long enough, the time is over, or the process closes. */
  async wait(waiter: Waiter, timeoutMs: number): Promise<void> {
    if (timeoutMs <= 0 || this.#closing.aborted) return;
    this.#latestWaitSince = performance.now();
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#ends.delete(waiter);
        resolve();
      };
      // One per waiter, so that a hanging database delays no waiter beyond the requested time.
      const timer = setTimeout(end, timeoutMs);
      this.#ends.set(waiter, end);
      if (!this.#isPolling) void this.#poll();
    });
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#ends.size;
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#ends.size > 0) {
      await sleep(this.#pauseMs());
      try {
        // Requests that arrive during the query are in the next round.
        for (const waiter of await this.#look([...this.#ends.keys()])) this.#ends.get(waiter)?.();
      } catch (error) {
        this.#warn(error);
        await sleep(failurePauseMs, null, { ref: false, signal: this.#closing }).catch(() => {});
      }
    }
    this.#isPolling = false;
  }

  #pauseMs(): number {
    const waitedMs = performance.now() - this.#latestWaitSince;
    return Math.min(Math.max(waitedMs * pauseShare, shortestPauseMs), longestPauseMs);
  }
}
