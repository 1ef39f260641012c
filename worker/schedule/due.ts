import type { Database } from '#shared/platform/database.ts';
import { processorNames } from '#shared/processors/registry.ts';

/** What there is to do, of everything that workers look for. */
export interface Due {
  /** The processors with refunds that are due, also those under a lease. */
  processors: readonly string[];
  /** True while batches are due, also those that wait for refunds of their owner. */
  batches: boolean;
  /** Up to where the event feed is complete. */
  settledPosition: bigint;
  /** True while events have no deliveries yet. */
  events: boolean;
  /** True while deliveries are pending: due, under a lease, or to be retried later. */
  deliveries: boolean;
  /** True while reconciliations are requested or under way. */
  reconciliations: boolean;
  /** True while notifications are due. */
  notifications: boolean;
}

/** Looks for everything in one statement, which reads a few entries of indexes, however much there is. */
export async function readDue(db: Database): Promise<Due> {
  const [due] = await db.$queryRaw<Due[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment, settled_event_position() AS settled)
    SELECT
      ARRAY(SELECT named.processor FROM unnest(${processorNames}::text[]) AS named(processor)
        WHERE EXISTS (SELECT FROM refund_work AS w WHERE w.processor = named.processor AND w.due_at <= clock.moment)) AS processors,
      EXISTS (SELECT FROM refund_batch AS b WHERE b.due_at <= clock.moment) AS batches,
      clock.settled AS "settledPosition",
      EXISTS (SELECT FROM webhook_cursor AS c WHERE c.position < clock.settled) AS events,
      EXISTS (SELECT FROM webhook_delivery AS d WHERE d.next_attempt_at IS NOT NULL) AS deliveries,
      EXISTS (SELECT FROM reconciliation_run AS r WHERE r.finished_at IS NULL) AS reconciliations,
      EXISTS (SELECT FROM notification AS n WHERE n.due_at <= clock.moment) AS notifications
    FROM clock`;
  if (due === undefined) throw new Error('What is due could not be read.');
  return due;
}
