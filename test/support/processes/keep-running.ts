import { setTimeout as sleep } from 'node:timers/promises';

export interface KeepOptions<Running> {
  start: () => Promise<Running>;
  /** Called each time it has ended without having been stopped, with what `exited` says, and for a start that failed. */
  onExit: (how: unknown) => void;
  /** Called when it runs again. */
  onRestart?: () => void;
}

/** What is started again whenever it ends. */
export interface Kept<Running> {
  /** Its latest process. */
  current(): Running;
  /** How often it has ended without having been stopped. */
  exits(): number;
  /** Ends it for good. */
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
export async function keepRunning<Running extends { exited: Promise<unknown> }>({
  start,
  onExit,
  onRestart = () => {},
}: KeepOptions<Running>): Promise<Kept<Running>> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let current = await start();
  let exits = 0;
  let pauseMs = firstPauseMs;
  const keep = async () => {
    for (;;) {
      const startedAt = performance.now();
      const how = await current.exited;
      if (signal.aborted) return;
      exits += 1;
      if (performance.now() - startedAt >= ranWellMs) pauseMs = firstPauseMs;
      onExit(how);
      await sleep(pauseMs, null, { signal }).catch(() => {});
      if (signal.aborted) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      // When the start fails, `current` stays the process that ended, and the loop tries again.
      current = await start().catch((error: unknown) => {
        onExit(error);
        return current;
      });
      if (signal.aborted) return;
      onRestart();
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
      // The loop may have started another one meanwhile.
      await end(current);
    },
  };
}
