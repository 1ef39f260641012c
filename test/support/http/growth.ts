/**
 * How many times as long work takes on 64 times the input: about 64 when it is linear, about 4096 when it is quadratic. The
 * fastest of several runs count, and of the long ones the processor time, because the machine does other things as well. A long
 * run that is too slow is repeated often: the machine may be busy for a while, and quadratic work is too slow each time.
 * @param length of the smaller input.
 * @param limit a growth below it is good enough: the long run is not repeated then.
 */
export async function growth(
  work: (length: number) => () => unknown,
  length: number,
  limit: number,
): Promise<number> {
  const small = await fastest(work(length), () => performance.now(), 6);
  return (await fastest(work(64 * length), processorMs, 60, limit * small)) / small;
}

/** @param enoughMs ends the repetitions as soon as one run takes less. */
async function fastest(
  run: () => unknown,
  clock: () => number,
  mostRuns: number,
  enoughMs = 0,
): Promise<number> {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let count = 0; count < mostRuns && fastestMs >= enoughMs; count += 1) {
    const begun = clock();
    await run();
    fastestMs = Math.min(fastestMs, clock() - begun);
  }
  return fastestMs;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
