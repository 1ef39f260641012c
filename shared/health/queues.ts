import type { Database } from '../platform/database.ts';
import { processorNames } from '../processors/registry.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';

/** The refunds of an owner at a processor that a worker goes on with. */
export interface ProcessorQueue {
  processor: string;
  /** Refunds with a next step, due or later; counted up to `mostQueued`, as the others. */
  waiting: number;
  /** Those whose last attempt, lookup or read failed. */
  retrying: number;
  /** Those that are retried and of which it is unknown whether the processor has them. */
  unknown: number;
  /** When the longest due one became due; null when none is due. */
  dueSince: Date | null;
  /** Refunds that completed in the last `completedMinutes`. */
  completed: number;
}

/** Where counting ends. */
export const mostQueued = 1_000;

export const completedMinutes = 5;

/**
 * Reads the queues of an owner in one statement, at a cost that does not depend on the backlog. Events of the last minutes are found
 * by the feed of the owner, from the position of the first event of all organizations in that time.
 */
export async function readQueues(db: Database, owner: RefundOwner): Promise<ProcessorQueue[]> {
  return await db.$queryRaw<ProcessorQueue[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    first AS MATERIALIZED (
      SELECT position FROM refund_event, clock
      WHERE hash IS NOT NULL AND created_at > moment - ${completedMinutes} * interval '1 minute' AND position IS NOT NULL
      ORDER BY created_at LIMIT 1),
    completed AS MATERIALIZED (
      SELECT refund.processor, count(*)::int AS refunds
      FROM (
        SELECT refund_id, type FROM refund_event
        WHERE ${ownerSql(owner)} AND position >= (SELECT position FROM first) ORDER BY position LIMIT ${4 * mostQueued}
      ) AS event
      CROSS JOIN LATERAL (SELECT processor FROM refund WHERE id = event.refund_id OFFSET 0) AS refund
      WHERE event.type = 'refund.completed' GROUP BY 1)
    SELECT name AS processor, work.*, retried.*, coalesce(completed.refunds, 0) AS completed
    FROM clock CROSS JOIN unnest(${[...processorNames]}::text[]) AS name
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS waiting, min(due_at) FILTER (WHERE due_at <= moment) AS "dueSince"
      FROM (
        SELECT due_at FROM refund_work WHERE processor = name AND ${ownerSql(owner)} AND due_at IS NOT NULL
        ORDER BY due_at LIMIT ${mostQueued}) AS each) AS work
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS retrying, count(unknown_since)::int AS unknown
      FROM (
        SELECT unknown_since FROM refund_work
        WHERE ${ownerSql(owner)} AND processor = name AND retrying_since IS NOT NULL
        ORDER BY retrying_since LIMIT ${mostQueued}) AS each) AS retried
    LEFT JOIN completed ON completed.processor = name`;
}
