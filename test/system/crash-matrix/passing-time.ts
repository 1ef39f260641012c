import type { Database } from '#shared/platform/database.ts';

/**
 * How long after the end of an attempt a lookup that finds nothing is proof. Lookups after the first pause, and after the
 * lease of a killed worker, come before that.
 */
export const settleDelayMs = 60_000;

/** More than a step takes in real time, which counts towards the settle delay as well. */
const marginMs = 6_000;

/** Milliseconds until a refund is due and every lease on it has ended. */
export async function timeUntilDueMs(db: Database, refundId: string): Promise<number> {
  const [found] = await db.$queryRaw<{ ms: number }[]>`
    SELECT (extract(epoch FROM greatest(
      interval '0', leased_until - service_time(), due_at - service_time()
    )) * 1000)::float8 AS ms
    FROM refund_work WHERE refund_id = ${refundId}`;
  return marginMs + (found?.ms ?? 0);
}

/**
 * Lets time pass for one refund and its account, by moving all their times into the past.
 */
export async function letTimePass(db: Database, refundId: string, passedMs: number): Promise<void> {
  await db.$executeRaw`
    WITH passed AS (
      SELECT id, organization_id, processor, ${passedMs} * interval '1 millisecond' AS time
      FROM refund WHERE id = ${refundId}
    ), rested AS (
      UPDATE processor_account SET throttled_until = throttled_until - time FROM passed
      WHERE processor_account.organization_id = passed.organization_id
        AND processor_account.processor = passed.processor AND throttled_until IS NOT NULL
    )
    UPDATE refund_work SET
      leased_until = leased_until - time, due_at = due_at - time,
      attempt_started_at = attempt_started_at - time, unknown_since = unknown_since - time, retrying_since = retrying_since - time,
      resync_requested_at = resync_requested_at - time, cancel_requested_at = cancel_requested_at - time,
      flagged_at = flagged_at - time
    FROM passed WHERE refund_work.refund_id = passed.id`;
}
