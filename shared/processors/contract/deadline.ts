import type { CallOptions } from './processor.ts';

/** The total time of one call to an adapter, however many requests it takes. */
export class Deadline {
  readonly #endsAt: number;

  constructor({ timeoutMs, since = performance.now() }: CallOptions) {
    this.#endsAt = since + timeoutMs;
  }

  /**
   * Whole milliseconds that are left.
   * @throws DeadlineExceededError when there are none.
   */
  remainingMs(): number {
    const remainingMs = Math.floor(this.#endsAt - performance.now());
    if (remainingMs <= 0) throw new DeadlineExceededError();
    return remainingMs;
  }

  /**
   * Does not wait for work beyond the deadline.
   * @param options.abandon is called when time is up, to stop what can be stopped.
   * @param options.leaveMs is kept back for what has to follow.
   * @throws DeadlineExceededError when time is up.
   */
  async guard<T>(
    work: () => Promise<T>,
    { abandon, leaveMs = 0 }: { abandon: () => void; leaveMs?: number },
  ): Promise<T> {
    const waitMs = this.remainingMs() - leaveMs;
    if (waitMs <= 0) throw new DeadlineExceededError();
    let timer: NodeJS.Timeout | undefined;
    const expiry = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new DeadlineExceededError());
        abandon();
      }, waitMs);
    });
    try {
      // The race keeps listening to the loser, so that an answer after the deadline is dropped and crashes nothing.
      return await Promise.race([work(), expiry]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Time was up before the processor had answered. */
export class DeadlineExceededError extends Error {
  override readonly name = 'DeadlineExceededError';

  constructor() {
    super('The processor did not answer in time.');
  }
}
