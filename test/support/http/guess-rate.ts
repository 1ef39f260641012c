/** How two ways of asking compare in time. */
export interface TimeComparison {
  /**
   * How often somebody is right who is told the times of one answer of each kind and has to say which is which: 0.5 is
   * as good as tossing a coin, 1 is certainty.
   */
  guessRate: number;
  /** Of both kinds, in milliseconds, for people. */
  medians: [number, number];
}

/**
 * Measures two ways of asking by turns, in random order, so that whatever else the machine does falls on both alike.
 * The answer does not depend on how the times are distributed: every pair of samples is compared and nothing else.
 */
export async function compareTimes(
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
  samples: number,
): Promise<TimeComparison> {
  const times: [number[], number[]] = [[], []];
  for (let sample = 0; sample < samples; sample += 1) {
    const firstGoesFirst = Math.random() < 0.5;
    for (const which of firstGoesFirst ? ([0, 1] as const) : ([1, 0] as const)) {
      times[which].push(await timeOf(which === 0 ? first : second));
    }
  }
  const slower = chanceOfGreater(times[1], times[0]);
  return { guessRate: Math.max(slower, 1 - slower), medians: [median(times[0]), median(times[1])] };
}

async function timeOf(ask: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await ask();
  return performance.now() - since;
}

/** The share of all pairs in which the one is greater than the other; draws count half. */
function chanceOfGreater(ones: readonly number[], others: readonly number[]): number {
  const points = ones.flatMap((one) => others.map((other) => (one > other ? 1 : one === other ? 0.5 : 0)));
  return points.reduce<number>((sum, point) => sum + point, 0) / points.length;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
