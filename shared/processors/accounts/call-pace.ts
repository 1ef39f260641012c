/** Calls that may come together, in milliseconds at the rate; one always may. As free_calls.sql says. */
const burstMs = 200;

/** Spaces the calls of this process that no claim has counted, such as reads of payments for requests. */
export class CallPace {
  /** By what is called: when its calls so far would be over, at their rate. */
  readonly #spentUntilMs = new Map<string, number>();

  /**
   * Takes the next call.
   * @param perSecond 0 for no limit.
   * @returns milliseconds until it may be made; null when that is more than `mostMs`, and no call is taken.
   */
  take(called: string, perSecond: number, nowMs: number, mostMs: number): number | null {
    if (perSecond === 0) return 0;
    const callMs = 1_000 / perSecond;
    const spentUntilMs = Math.max(this.#spentUntilMs.get(called) ?? 0, nowMs) + callMs;
    const waitMs = Math.max(0, spentUntilMs - nowMs - Math.max(burstMs, callMs));
    if (waitMs > mostMs) return null;
    // The latest at the end, so that what is past is at the beginning.
    this.#spentUntilMs.delete(called);
    this.#spentUntilMs.set(called, spentUntilMs);
    for (const [each, untilMs] of this.#spentUntilMs) {
      if (untilMs > nowMs) break;
      this.#spentUntilMs.delete(each);
    }
    return waitMs;
  }
}
