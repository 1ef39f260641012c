import { setTimeout as sleep } from 'node:timers/promises';

/** One Ctrl-C arrives twice, from npm and from the terminal. A second one comes later than this. */
const samePressMs = 1_000;

/**
 * Returns a signal that aborts at the first Ctrl-C, SIGTERM or closed terminal. A second one ends this process at once,
 * and the reapers end what it started.
 * @param env shows whether npm started this process. An npm that is killed passes no signal on, so that the end of the
 * parent process aborts as well.
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
