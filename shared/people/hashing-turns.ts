import { ServiceError } from '../platform/errors.ts';

/** A hash keeps a core and 19 MiB busy for some twenty milliseconds; so many of them at once do not starve the rest. */
const defaultLimits = { atOnce: 4, waiting: 50 };

/** Bounds how many passwords a process hashes at once, so that a flood of sign-ins cannot exhaust it. */
export class HashingTurns {
  readonly #limits: { atOnce: number; waiting: number };
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  /**
   * Does a piece of work when it is its turn, first come, first served. Work must not take a second turn inside of its own.
   * @throws ServiceError service_unavailable, at once, when too many wait already; the work is then not begun.
   */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limits.atOnce) this.#running += 1;
    else await this.#wait();
    try {
      return await work();
    } finally {
      // A turn that somebody waits for is handed over, so that nobody who comes later gets in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #wait(): Promise<void> {
    if (this.#waiting.length >= this.#limits.waiting) {
      const message = 'Too many people are signing in just now. Try again in a few seconds.';
      throw new ServiceError('service_unavailable', message, { retryAfterSeconds: 2 });
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
