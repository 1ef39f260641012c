import type { Dependencies } from '../../shared/dependencies.ts';

/** What one sweep enqueues per queue; the next sweep goes on. */
const batchSize = 500;

/** A refund whose job was lost is enqueued again after this time. */
const repeatAfterMs = 5_000;

/**
 * Enqueues the refunds of a processor that are due: retries, settlement checks and jobs that were lost. Only the database
 * says what is due, so an emptied or unreachable queue delays a refund and never loses it.
 * @throws when the database or the queue is unavailable; the next sweep enqueues what this one did not.
 */
export async function sweep(deps: Dependencies, processor: string): Promise<void> {
  const due = await deps.db.$queryRaw<{ id: string }[]>`
    SELECT id FROM take_due_refunds(${processor}, ${repeatAfterMs}::int, ${batchSize}::int) AS id`;
  if (due.length > 0) {
    await deps.queues.enqueueAll(
      processor,
      due.map(({ id }) => id),
    );
  }
}
