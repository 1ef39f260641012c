import { setTimeout as sleep } from 'node:timers/promises';
import type { Dependencies } from '../../shared/dependencies.ts';
import { warnSparingly } from '../../shared/platform/log.ts';
import { processorNames } from '../../shared/processors/registry.ts';

/** Refunds that one sweep wakes per processor; the next sweep continues. */
const batchSize = 500;

/** A refund whose job was lost is woken again after this time. */
const repeatAfterMs = 5_000;

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

/**
 * Wakes the refunds of a processor that are due: retries, settlement polls, and whatever the queue lost. The database
 * alone knows when something is due, so an emptied or unreachable queue costs time and never a refund.
 * @throws when the database or the queue cannot be worked with; the next sweep finds what this one did not wake.
 */
export async function sweep(deps: Dependencies, processor: string): Promise<void> {
  const due = await takeDue(deps, processor);
  if (due.length > 0) await deps.queues.wakeAll(processor, due);
}

/** Marks what is due as enqueued, so that two sweeps at once share the work and a backlog is not queued every second. */
async function takeDue(deps: Dependencies, processor: string): Promise<string[]> {
  const due = await deps.db.$queryRaw<{ id: string }[]>`
    UPDATE refund_work SET enqueued_at = service_time()
    WHERE refund_id IN (
      SELECT refund_id FROM refund_work
      WHERE processor = ${processor} AND due_at <= service_time()
        AND (leased_until IS NULL OR leased_until <= service_time())
        AND (enqueued_at IS NULL OR enqueued_at <= service_time() - ${repeatAfterMs} * interval '1 millisecond')
      ORDER BY due_at
      LIMIT ${batchSize}
      FOR UPDATE SKIP LOCKED
    )
    RETURNING refund_id AS id`;
  return due.map(({ id }) => id);
}
