import { type Logger, warnSparingly } from '#shared/platform/log.ts';
import type { Due } from './due.ts';

/** Looks for what is due without a queue, one statement for everything. */
export interface Looks {
  /** Resolves with the next look that finds something of a kind, or that fails, or with the signal. */
  untilDue(isDue: (due: Due) => boolean, signal: AbortSignal): Promise<void>;
  /** Shortens a long pause, because there is something to do. */
  wake(): void;
  close(): Promise<void>;
}

interface LookOptions {
  read(): Promise<Due>;
  /** The pause after a look that found something. Each look that finds nothing doubles it. */
  shortestPauseMs: number;
  log: Logger;
  /** Uniform in [0, 1). */
  random(): number;
}

/** Of what a lost wake-up left, and of the first attempt of a webhook (docs/webhooks.md), besides the interval of the task. */
const longestPauseMs = 1_000;

/** Looks at once, and then repeatedly, with up to a quarter of jitter. */
export function startLooks({ read, shortestPauseMs, log, random }: LookOptions): Looks {
  const warn = warnSparingly(log, 'what is due could not be looked for; it will be tried again');
  const waiting = new Map<() => void, (due: Due) => boolean>();
  let quietLooks = 0;
  let isClosing = false;
  let looking = Promise.resolve();
  let nextLook: NodeJS.Timeout | undefined;
  let nextLookAt = 0;

  const look = async () => {
    // Before it, because a wake-up may come meanwhile.
    quietLooks += 1;
    const due = await read().catch((error: unknown) => {
      warn(error);
      return null;
    });
    if (due !== null && (due.processors.length > 0 || due.batches || due.events)) quietLooks = 0;
    // What cannot be read may concern one task alone, and the others go on.
    for (const [resolve, isDue] of waiting) if (due === null || isDue(due)) resolve();
  };
  const lookIn = (pauseMs: number) => {
    clearTimeout(nextLook);
    nextLookAt = performance.now() + pauseMs;
    nextLook = setTimeout(() => {
      looking = look().then(lookAgain);
    }, pauseMs);
  };
  const lookAgain = () => {
    const pauseMs = Math.min(shortestPauseMs * 2 ** quietLooks, longestPauseMs);
    if (!isClosing) lookIn(pauseMs * (1 - random() / 4));
  };
  lookIn(0);
  return {
    async untilDue(isDue, signal) {
      if (signal.aborted) return;
      await new Promise<void>((resolve) => {
        const end = () => {
          waiting.delete(end);
          signal.removeEventListener('abort', end);
          resolve();
        };
        waiting.set(end, isDue);
        signal.addEventListener('abort', end);
      });
    },
    wake() {
      quietLooks = 0;
      if (isClosing) return;
      if (nextLookAt - performance.now() > shortestPauseMs) lookIn(shortestPauseMs);
    },
    async close() {
      isClosing = true;
      clearTimeout(nextLook);
      await looking;
    },
  };
}
