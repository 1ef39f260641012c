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
  const due = await takeDue(deps, processor);
  if (due.length > 0) await deps.queues.enqueueAll(processor, due);
}

/** Marks what is due as enqueued, so that concurrent sweeps share the work and a backlog is not enqueued every second. */
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

/** The same for webhook deliveries. Of each endpoint no more than it may have attempts at once; the others follow as those end. */
export async function sweepDeliveries({ db, queues }: Pick<Dependencies, 'db' | 'queues'>): Promise<void> {
  const due = await db.$queryRaw<
    { id: string }[]
  >`SELECT id FROM due_deliveries(NULL, ${batchSize}::int) AS id`;
  if (due.length > 0) await queues.enqueueDeliveries(due.map(({ id }) => id));
}
