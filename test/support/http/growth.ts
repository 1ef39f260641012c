/**
 * How many times as long work takes on 64 times the input: about 64 when it is linear, about 4096 when it is quadratic. The
 * fastest of several runs count, and of the long ones the processor time, because the machine does other things as well.
 * @param length of the smaller input.
 */
export async function growth(work: (length: number) => () => unknown, length: number): Promise<number> {
  const large = await fastest(work(64 * length), processorMs);
  return large / (await fastest(work(length), () => performance.now()));
}

async function fastest(run: () => unknown, clock: () => number): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 6; count += 1) {
    const begun = clock();
    await run();
    times.push(clock() - begun);
  }
  return Math.min(...times);
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
