import { setTimeout as sleep } from 'node:timers/promises';
import type { Dependencies } from '../shared/dependencies.ts';
import { warnSparingly } from '../shared/log.ts';
import { processorNames } from '../shared/processors/registry.ts';
import { sweep } from './jobs/sweep.ts';

/**
 * Sweeps again and again until it is closed, from a timer of this process: neither a queue that was emptied or is gone
 * nor the clock of a machine can keep it from doing so. Each processor has a round of its own, so that a queue which
 * hangs holds up nothing but its own refunds. Workers that sweep at the same time share the work.
 */
export function startSweeping(deps: Dependencies): { close(): Promise<void> } {
  const stopped = new AbortController();
  const rounds = processorNames.map((processor) => sweepAgainAndAgain(deps, processor, stopped.signal));
  return {
    async close() {
      stopped.abort();
      await Promise.all(rounds);
    },
  };
}

async function sweepAgainAndAgain(
  deps: Dependencies,
  processor: string,
  stopped: AbortSignal,
): Promise<void> {
  const log = deps.log.child({ processor });
  const warn = warnSparingly(log, 'what is due could not be swept; it is tried again');
  while (!stopped.aborted) {
    await sweep(deps, processor).catch(warn);
    await sleep(pauseMs(deps), null, { signal: stopped }).catch(() => {});
  }
}

/** Up to a quarter more or less: workers that were started together do not stay together. */
function pauseMs({ settings, random }: Dependencies): number {
  return settings.SWEEP_INTERVAL_MS * (0.75 + random() * 0.5);
}
