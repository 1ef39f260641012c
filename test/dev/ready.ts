import { setTimeout as sleep } from 'node:timers/promises';
import type { KeptProgram } from './program.ts';
import { StartError } from './start-error.ts';

const timeoutMs = 60_000;

/**
 * Waits until a URL answers 200.
 * @param programs that have to run for it; one that ends meanwhile would never get better by itself.
 * @throws StartError when a program ends or the time is over.
 */
export async function waitUntilReady(
  url: string,
  programs: KeptProgram[],
  signal: AbortSignal,
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await answers(url))) {
    signal.throwIfAborted();
    const ended = programs.find((program) => program.exits() > 0);
    if (ended !== undefined) throw new StartError(`${ended.name} did not start; the reason stands above.`);
    if (performance.now() > giveUpAt) throw new StartError(`${url} did not answer within a minute.`);
    await sleep(50);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(3_000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}
