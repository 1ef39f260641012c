import { type Database, Prisma } from '../platform/database.ts';
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
  /** Refunds that completed, on average over the last `completedMinutes`, or over the latest events where these are more recent. */
  completedPerMinute: number;
}

/** Where counting ends. */
export const mostQueued = 1_000;

export const completedMinutes = 5;

/** Events that are read to count what completed. */
const mostEvents = 2_000;

/** Reads the queues of an owner in one statement, at a cost that does not depend on the backlog. */
export async function readQueues(db: Database, owner: RefundOwner): Promise<ProcessorQueue[]> {
  const { organizationId, environment } = owner;
  const accounts = Prisma.sql`accounts_with_work(name, ${organizationId}, ${environment}::environment) AS account`;
  return await db.$queryRaw<ProcessorQueue[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    latest AS MATERIALIZED (
      SELECT refund_id, type, created_at FROM refund_event WHERE ${ownerSql(owner)} AND position IS NOT NULL
      ORDER BY position DESC LIMIT ${mostEvents}),
    span AS MATERIALIZED (
      SELECT moment, greatest(moment - ${completedMinutes} * interval '1 minute', (
        SELECT min(created_at) FROM latest HAVING count(*) = ${mostEvents})) AS since
      FROM clock),
    completed AS MATERIALIZED (
      SELECT refund.processor, (60 * count(*) / greatest(1, extract(epoch FROM max(span.moment - span.since))))::float8 AS rate
      FROM span JOIN latest ON latest.type = 'refund.completed' AND latest.created_at >= span.since
      CROSS JOIN LATERAL (SELECT processor FROM refund WHERE id = latest.refund_id) AS refund GROUP BY 1)
    SELECT name AS processor, work.*, retried.*, coalesce(completed.rate, 0) AS "completedPerMinute"
    FROM clock CROSS JOIN unnest(${[...processorNames]}::text[]) AS name
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS waiting, min(due_at) FILTER (WHERE due_at <= moment) AS "dueSince"
      FROM (
        SELECT of_account.due_at FROM ${accounts} CROSS JOIN LATERAL (
          SELECT due_at FROM refund_work
          WHERE processor = name AND ${ownerSql(owner)} AND account_id = account.account_id AND due_at IS NOT NULL
          ORDER BY due_at LIMIT ${mostQueued}) AS of_account
        ORDER BY of_account.due_at LIMIT ${mostQueued}) AS each) AS work
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS retrying, count(unknown_since)::int AS unknown
      FROM (
        SELECT of_account.unknown_since FROM ${accounts} CROSS JOIN LATERAL (
          SELECT unknown_since, retrying_since FROM refund_work
          WHERE ${ownerSql(owner)} AND account_id = account.account_id AND retrying_since IS NOT NULL
          ORDER BY retrying_since LIMIT ${mostQueued}) AS of_account
        ORDER BY of_account.retrying_since LIMIT ${mostQueued}) AS each) AS retried
    LEFT JOIN completed ON completed.processor = name`;
}
