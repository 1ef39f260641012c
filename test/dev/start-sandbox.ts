import { setTimeout as sleep } from 'node:timers/promises';
import type { KeptProgram } from './program.ts';
import { StartError } from './start-error.ts';

export interface SandboxStart {
  /** Ports of 127.0.0.1 that seem to be free, in the order in which they are tried. */
  ports: AsyncIterable<number>;
  launch: (port: number) => KeptProgram;
  signal: AbortSignal;
}

export interface RunningSandbox {
  url: string;
  program: KeptProgram;
}

const timeoutMs = 60_000;

/**
 * Starts the sandbox on the first port that it really gets: another program may take one between the look at it and the
 * sandbox's own start, and another sandbox there would even answer in its place.
 * @throws StartError when it got none.
 */
export async function startSandbox({ ports, launch, signal }: SandboxStart): Promise<RunningSandbox> {
  for await (const port of ports) {
    const program = launch(port);
    const url = `http://127.0.0.1:${port}`;
    if (await isServedBy(program, url, signal)) return { url, program };
    await program.stop(0);
  }
  throw new StartError('sandbox did not start; the reason stands above.');
}

/** False when the program has ended instead. */
async function isServedBy(program: KeptProgram, url: string, signal: AbortSignal): Promise<boolean> {
  const giveUpAt = performance.now() + timeoutMs;
  while (program.exits() === 0) {
    if ((await servingProcess(url)) === program.pid()) return true;
    signal.throwIfAborted();
    if (performance.now() > giveUpAt) throw new StartError(`${url} did not answer within a minute.`);
    await sleep(50);
  }
  return false;
}

/** The process id of the sandbox that answers at a URL; null when none does. */
async function servingProcess(url: string): Promise<number | null> {
  try {
    const response = await fetch(`${url}/_sandbox/health`, { signal: AbortSignal.timeout(3_000) });
    return ((await response.json()) as { pid?: number }).pid ?? null;
  } catch {
    return null;
  }
}
