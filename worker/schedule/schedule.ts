import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, warnSparingly } from '#shared/platform/log.ts';
import type { Due } from './due.ts';
import type { Looks } from './looks.ts';

/** Something that every worker does repeatedly. Several workers may do it at the same time. */
export interface Task {
  name: string;
  intervalMs: number;
  /** Whether a look has found something to do for it; without it, the task runs at every interval. */
  isDue?(due: Due): boolean;
  /** @param closing aborted when the worker closes, so that a long task can stop early. */
  run(closing: AbortSignal): Promise<void>;
}

/** The first run of a task comes within this time, so that workers that start together do not run it together. */
const longestFirstPauseMs = 1_000;

interface ScheduleDependencies {
  log: Logger;
  /** Uniform in [0, 1). */
  random: () => number;
  looks: Pick<Looks, 'untilDue'>;
}

/**
 * Runs each task repeatedly: soon after the start, then `intervalMs` after its last end, with up to a quarter of jitter, and once a look
 * finds that it is due. The tasks run side by side, so one that hangs delays no other. A task that throws is logged and runs again.
 * @returns `close`, which waits for the tasks that are running.
 */
export function startSchedule(
  deps: ScheduleDependencies,
  tasks: readonly Task[],
): { close(): Promise<void> } {
  const closing = new AbortController();
  // Each task listens; Node would warn of a leak from eleven on.
  setMaxListeners(0, closing.signal);
  const loops = tasks.map((task) => repeat(task, deps, closing.signal));
  return {
    async close() {
      closing.abort();
      await Promise.all(loops);
    },
  };
}

async function repeat(
  { name, intervalMs, isDue, run }: Task,
  { log, random, looks }: ScheduleDependencies,
  closing: AbortSignal,
): Promise<void> {
  const warn = warnSparingly(log.child({ task: name }), 'a scheduled task failed; it will run again');
  const pause = (pauseMs: number) => sleep(pauseMs, undefined, { signal: closing }).catch(() => {});
  await pause(Math.min(intervalMs, longestFirstPauseMs) * random());
  while (!closing.aborted) {
    await run(closing).catch(warn);
    await pause(intervalMs * (0.75 + random() * 0.5));
    if (isDue !== undefined) await looks.untilDue(isDue, closing);
  }
}
