import { setTimeout as sleep } from 'node:timers/promises';

export interface KeepOptions<Exit, Running> {
  start: () => Promise<Running>;
  /** Called each time it has ended without having been stopped. */
  onExit: (how: Exit) => void;
  /** Called for each restart that failed. */
  onFailure: (error: Error) => void;
  /** Called when it runs again. */
  onRestart?: () => void;
}

/** What is started again whenever it ends. */
export interface Kept<Running> {
  /** The latest that was started; it may have ended. */
  current(): Running;
  /** How often it has ended without having been stopped. */
  exits(): number;
  /** Ends it for good. @param end is called again for one that was started meanwhile, and for one that has ended. */
  stop(end: (running: Running) => Promise<unknown>): Promise<void>;
}

const firstPauseMs = 200;
const longestPauseMs = 10_000;

/** After running this long, the next restart comes after the first pause again. */
const ranWellMs = 10_000;

/**
 * Starts a process and starts it again whenever it ends, after a pause that grows while it keeps ending early.
 * @throws what the first start throws.
 */
export async function keepRunning<Exit, Running extends { exited: Promise<Exit> }>({
  start,
  onExit,
  onFailure,
  onRestart = () => {},
}: KeepOptions<Exit, Running>): Promise<Kept<Running>> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let current = await start();
  let exits = 0;
  let pauseMs = firstPauseMs;

  /** Repeats the start until it succeeds or is no longer wanted. */
  const restart = async () => {
    for (;;) {
      await sleep(pauseMs, null, { signal }).catch(() => {});
      if (signal.aborted) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      try {
        current = await start();
        return;
      } catch (error) {
        onFailure(error as Error);
      }
    }
  };
  const keep = async () => {
    while (!signal.aborted) {
      const startedAt = performance.now();
      const how = await current.exited;
      if (signal.aborted) return;
      exits += 1;
      if (performance.now() - startedAt >= ranWellMs) pauseMs = firstPauseMs;
      onExit(how);
      await restart();
      if (!signal.aborted) onRestart();
    }
  };
  const done = keep();
  return {
    current: () => current,
    exits: () => exits,
    async stop(end) {
      stopped.abort();
      await end(current);
      await done;
      await end(current);
    },
  };
}
