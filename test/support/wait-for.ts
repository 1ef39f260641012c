import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Two minutes by default, because test machines may be slow. */
  timeoutMs?: number;
  /** 20 ms by default. */
  intervalMs?: number;
}

type Truthy<T> = Exclude<T, null | undefined | false | 0 | 0n | ''>;

/**
 * Repeats a probe until its result is truthy, and returns the result. A probe that throws is repeated, too.
 * @param description completes the sentence "Waited 10000 ms for ...".
 * @throws Error with the description and the last result, after the timeout; at once for a probe that is not a function.
 */
export async function waitFor<T>(
  description: string,
  probe: () => T | Promise<T>,
  { timeoutMs = 120_000, intervalMs = 20 }: WaitOptions = {},
): Promise<Truthy<T>> {
  if (typeof probe !== 'function')
    throw new TypeError('waitFor(description, probe): probe must be a function.');
  const deadline = performance.now() + timeoutMs;
  let last: Answer<T> = { error: 'none' };
  for (;;) {
    const left = Math.max(0, deadline - performance.now());
    const answer = await Promise.race([ask(probe), sleep(left, null, { ref: false })]);
    if (answer?.value) return answer.value as Truthy<T>;
    if (answer !== null) last = answer;
    if (answer === null || performance.now() >= deadline) break;
    await sleep(intervalMs);
  }
  throw new Error(`Waited ${timeoutMs} ms for ${description}. Last answer: ${describe(last)}`);
}

interface Answer<T> {
  value?: T;
  error?: unknown;
}

async function ask<T>(probe: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await probe() };
  } catch (error) {
    return { error };
  }
}

function describe({ value, error }: Answer<unknown>): string {
  if (error !== undefined) return error instanceof Error ? error.message || error.name : String(error);
  const bigintsAsText = (_key: string, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part);
  return JSON.stringify(value, bigintsAsText) ?? 'undefined';
}
