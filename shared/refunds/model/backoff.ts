/** In milliseconds: the first pause and the longest one. */
interface BackoffSettings {
  baseMs: number;
  capMs: number;
}

/**
 * The pause before the next attempt, in milliseconds: exponential with jitter, so that refunds that failed together do not
 * retry together. The processor's Retry-After is a lower bound, capped at one day.
 * @param consecutiveFailures 1 for the first failure.
 * @param random uniform in [0, 1).
 */
export function retryDelayMs(
  consecutiveFailures: number,
  settings: BackoffSettings,
  random: () => number,
  retryAfterMs: number | null = null,
): number {
  const ceiling = exponential(consecutiveFailures, settings);
  const jittered = Math.round(ceiling / 10 + random() * (ceiling * 0.9));
  const asked = Math.min(retryAfterMs ?? 0, 24 * 60 * 60 * 1000);
  return asked > jittered ? Math.round(asked + (random() * settings.baseMs) / 2) : jittered;
}

/**
 * The pause before settlement is checked again, in milliseconds: short at first, because most refunds settle soon. Jitter
 * of 10% is enough, because refunds are not accepted all at once.
 */
export function settlementDelayMs(
  consecutiveFailures: number,
  settings: BackoffSettings,
  random: () => number,
): number {
  return Math.round(exponential(consecutiveFailures, settings) * (0.9 + random() * 0.2));
}

function exponential(count: number, { baseMs, capMs }: BackoffSettings): number {
  const exponent = Math.min(Math.max(count - 1, 0), 40);
  return Math.min(capMs, baseMs * 2 ** exponent);
}
