import type { Database } from '../../../shared/db.ts';

/** More than the time after which the sweep wakes a refund once more. */
const marginMs = 6_000;

/**
 * Lets time pass for one refund and the account it goes through, until it is due again and every lease on it is over:
 * instead of waiting, all its moments are moved into the past by as much.
 * @returns how many milliseconds have passed.
 */
export async function letTimePass(db: Database, refundId: string): Promise<number> {
  const [passed] = await db.$queryRaw<{ ms: number }[]>`
    WITH passed AS (
      SELECT id, organization_id, processor, ${marginMs} * interval '1 millisecond' + greatest(
        interval '0', claimed_until - clock_timestamp(), coalesce(next_action_at, review_due_at) - clock_timestamp()
      ) AS time
      FROM refund WHERE id = ${refundId}
    ), rested AS (
      UPDATE processor_account SET throttled_until = throttled_until - time FROM passed
      WHERE processor_account.organization_id = passed.organization_id
        AND processor_account.processor = passed.processor AND throttled_until IS NOT NULL
    )
    UPDATE refund SET
      claimed_until = claimed_until - time, next_action_at = next_action_at - time,
      review_due_at = review_due_at - time, woken_at = woken_at - time, last_sent_at = last_sent_at - time,
      unknown_since = unknown_since - time, attempt_ended_at = attempt_ended_at - time,
      retrying_since = retrying_since - time, accepted_at = accepted_at - time,
      cancel_requested_at = cancel_requested_at - time, flagged_at = flagged_at - time
    FROM passed WHERE refund.id = passed.id
    RETURNING (extract(epoch FROM time) * 1000)::float8 AS ms`;
  if (passed === undefined) throw new Error(`There is no refund ${refundId}`);
  return passed.ms;
}
