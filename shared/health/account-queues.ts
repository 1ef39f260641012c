import type { Database } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';

/**
 * The refunds that a worker goes on with: of an account with credentials of its own, or of all that are connected to it. Of the latter only
 * where there are any.
 */
export interface AccountQueue {
  accountId: string;
  isConnected: boolean;
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
export async function readQueues(db: Database, owner: RefundOwner): Promise<AccountQueue[]> {
  const { organizationId, environment } = owner;
  return await db.$queryRaw<AccountQueue[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    latest AS MATERIALIZED (
      SELECT refund_id, type, created_at FROM refund_event WHERE ${ownerSql(owner)} AND position IS NOT NULL
      ORDER BY position DESC LIMIT ${mostEvents}),
    span AS MATERIALIZED (
      SELECT moment, greatest(moment - ${completedMinutes} * interval '1 minute', (
        SELECT min(created_at) FROM latest HAVING count(*) = ${mostEvents})) AS since
      FROM clock),
    account AS MATERIALIZED (
      SELECT id, processor FROM processor_account WHERE ${ownerSql(owner)} AND parent_id IS NULL),
    line AS MATERIALIZED (
      SELECT account.id AS account_id, account.processor, false AS is_connected FROM account
      UNION ALL
      SELECT account.id, account.processor, true FROM account
      WHERE EXISTS (SELECT FROM processor_account AS connected WHERE connected.parent_id = account.id)),
    retried AS MATERIALIZED (
      SELECT coalesce(a.parent_id, a.id) AS account_id, a.parent_id IS NOT NULL AS is_connected,
        least(sum(of_account.retrying), ${mostQueued})::int AS retrying, least(sum(of_account.unknown), ${mostQueued})::int AS unknown
      FROM accounts_retrying(${organizationId}, ${environment}::environment) AS found
      JOIN processor_account AS a ON a.id = found.account_id
      CROSS JOIN LATERAL (
        SELECT count(*) AS retrying, count(unknown_since) AS unknown FROM (
          SELECT unknown_since FROM refund_work WHERE ${ownerSql(owner)} AND account_id = a.id AND retrying_since IS NOT NULL
          ORDER BY retrying_since LIMIT ${mostQueued}) AS each) AS of_account
      GROUP BY 1, 2),
    completed AS MATERIALIZED (
      SELECT coalesce(a.parent_id, a.id) AS account_id, a.parent_id IS NOT NULL AS is_connected, sum(of_account.rate) AS rate
      FROM (
        SELECT refund.account_id, (60 * count(*) / greatest(1, extract(epoch FROM max(span.moment - span.since))))::float8 AS rate
        FROM span JOIN latest ON latest.type = 'refund.completed' AND latest.created_at >= span.since
        CROSS JOIN LATERAL (SELECT account_id FROM refund WHERE id = latest.refund_id) AS refund GROUP BY 1) AS of_account
      JOIN processor_account AS a ON a.id = of_account.account_id GROUP BY 1, 2),
    queue AS MATERIALIZED (
      SELECT account_id, is_connected, waiting, due_since FROM line CROSS JOIN LATERAL account_queue(
        line.account_id, line.processor, ${organizationId}, ${environment}::environment, line.is_connected, ${mostQueued}::int) AS work)
    SELECT account_id AS "accountId", is_connected AS "isConnected", waiting, due_since AS "dueSince",
      coalesce(retrying, 0) AS retrying, coalesce(unknown, 0) AS unknown, coalesce(completed.rate, 0) AS "completedPerMinute"
    FROM queue
    LEFT JOIN retried USING (account_id, is_connected)
    LEFT JOIN completed USING (account_id, is_connected)
    WHERE NOT is_connected OR waiting > 0 OR retrying IS NOT NULL OR completed.rate IS NOT NULL`;
}
