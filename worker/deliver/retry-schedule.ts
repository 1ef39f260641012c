const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** The pauses between the attempts of a delivery, in milliseconds, as Standard Webhooks recommends. */
const pausesMs: readonly number[] = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  10 * hourMs,
];

/**
 * The pause after a failed attempt, in milliseconds, with up to a tenth of jitter, so that deliveries that failed together do
 * not retry together.
 * @param attemptNumber 1 for the first attempt.
 * @param random uniform in [0, 1).
 * @returns null after the last attempt.
 */
export function retryDelayMs(attemptNumber: number, random: () => number): number | null {
  const pauseMs = pausesMs[attemptNumber - 1];
  return pauseMs === undefined ? null : Math.round(pauseMs * (1 + random() * 0.1));
}
