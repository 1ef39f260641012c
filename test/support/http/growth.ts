/**
 * How many times as long work takes on 64 times the input: about 64 when it is linear, about 4096 when it is quadratic. The
 * fastest of several runs count, and the two are far enough apart for a machine that does other things as well.
 * @param length of the smaller input.
 */
export async function growth(work: (length: number) => () => unknown, length: number): Promise<number> {
  const large = await fastest(work(64 * length));
  return large / (await fastest(work(length)));
}

async function fastest(run: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 6; count += 1) {
    const begun = performance.now();
    await run();
    times.push(performance.now() - begun);
  }
  return Math.min(...times);
}
