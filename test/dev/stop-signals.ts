import { setTimeout as sleep } from 'node:timers/promises';

/** npm and the terminal both pass Ctrl-C on, so one press arrives twice; a second press comes later than this. */
const samePressMs = 1_000;

/**
 * Turns the first Ctrl-C, SIGTERM or closed terminal into an aborted signal; a second one ends this process at once,
 * and what is left is then ended by the reapers, which notice that we are gone.
 * @param env tells whether npm started us: an npm that is killed outright passes nothing on, and would leave all of
 * this running unseen.
 */
export function abortOnSignals(env: NodeJS.ProcessEnv, onAbort: () => void): AbortSignal {
  const stopping = new AbortController();
  stopping.signal.addEventListener('abort', onAbort, { once: true });
  let firstAt: number | null = null;
  const onSignal = () => {
    if (firstAt !== null && performance.now() - firstAt < samePressMs) return;
    if (firstAt !== null) process.exit(1);
    firstAt = performance.now();
    stopping.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  if (env.npm_lifecycle_event !== undefined) void abortWithoutParent(process.ppid, stopping);
  return stopping.signal;
}

async function abortWithoutParent(npm: number, stopping: AbortController): Promise<void> {
  while (process.ppid === npm) await sleep(500, null, { ref: false });
  stopping.abort();
}
