import { erasedText } from '#shared/audit/erasure.ts';
import { type Database, Prisma } from '#shared/platform/database.ts';
import type { StoredAttempt } from '#shared/webhooks/deliveries.ts';

// Rows are found as claim-deliveries.ts says.

/** How an attempt ended. */
export interface AttemptResult
  extends Pick<StoredAttempt, 'durationMs' | 'responseStatus' | 'responseBody' | 'error'> {
  deliveryId: string;
  attemptNumber: number;
  /** Where the request was sent. */
  url: string;
  /** How long the request waited for those of earlier events after the attempt was written. */
  waitedMs: number;
  /** Null when no further attempt is scheduled. */
  retryInMs: number | null;
  /** True when the endpoint asks for no more events. */
  isGone: boolean;
}

/** What a record says of the endpoint of a delivery that still exists. */
export interface RecordedDelivery {
  deliveryId: string;
  endpointId: string;
  /** Whether the endpoint is enabled and still has the URL of the attempt. */
  maySendMore: boolean;
  /** Set when this record disabled the endpoint. */
  disabledReason: 'gone' | 'failing' | null;
}

/** Whether an answer disables the endpoint `w`. */
const isDisabled = Prisma.sql`(is_gone OR NOT succeeds AND w.failing_since <= clock.moment - interval '5 days') IS TRUE`;

/**
 * Records how attempts ended, and what follows for the deliveries and their endpoints. Only the last attempt of a delivery
 * decides about it: a worker whose lease was lost changes nothing but its own attempt. What an erasure has put in the place of a
 * response stays, and a response to what an erasure has erased meanwhile is not stored.
 *
 * A delivery that succeeded ends, also if its endpoint was disabled meanwhile. One that failed is due again after `retryInMs`,
 * or at once if another attempt was requested meanwhile or the endpoint has another URL by now. An endpoint that answers that it is
 * gone, or that fails five days or more after the first of its consecutive failures, is disabled; answers from an earlier URL do not
 * count. The caller ends its pending deliveries, of which there may be many.
 */
export async function recordAttempts(
  db: Database,
  results: readonly AttemptResult[],
): Promise<RecordedDelivery[]> {
  const items = results.map(({ durationMs, responseStatus, responseBody, error, ...item }) => ({
    ...item,
    isSuccess: error === null,
    result: { durationMs, responseStatus, responseBody, error },
  }));
  return await db.$queryRaw<RecordedDelivery[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    item AS MATERIALIZED (
      -- The last one of a delivery.
      SELECT DISTINCT ON ("deliveryId") "deliveryId" AS id, "attemptNumber" AS number, url, "waitedMs" AS waited_ms,
        "retryInMs" AS retry_in_ms, "isGone" AS is_gone, "isSuccess" AS is_success, jsonb_strip_nulls(result) AS result
      FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS i("deliveryId" text, "attemptNumber" int, url text, "waitedMs" int,
        "retryInMs" bigint, "isGone" boolean, "isSuccess" boolean, result jsonb)
      ORDER BY "deliveryId", "attemptNumber" DESC
    ), known AS MATERIALIZED (
      SELECT item.*, d.endpoint_id, w.url = item.url AS is_current, erased.until AS erased_until FROM item
      CROSS JOIN LATERAL (SELECT endpoint_id, refund_id FROM webhook_delivery WHERE id = item.id) AS d
      CROSS JOIN LATERAL (SELECT organization_id, url FROM webhook_endpoint WHERE id = d.endpoint_id) AS w
      -- An attempt that began until then may have sent what was erased: an erasure is dated at its start and lasts less than a minute.
      CROSS JOIN LATERAL (
        SELECT max(created_at) + interval '1 minute' AS until FROM (
          -- By the target: the newest entry could be searched for in the whole log of the organization.
          SELECT action, created_at FROM audit_log
          WHERE organization_id = w.organization_id AND target = d.refund_id AND item.result ? 'responseBody' OFFSET 0) AS entry
        WHERE action = 'refund.erased') AS erased
    ), answer AS (
      SELECT endpoint_id AS id, bool_or(is_success) AS succeeds, bool_or(is_gone) AS is_gone FROM known
      WHERE is_current GROUP BY endpoint_id
    ), changed AS (
      UPDATE webhook_endpoint AS w SET
        failing_since = CASE WHEN NOT succeeds AND NOT ${isDisabled} THEN clock.moment END,
        status = CASE WHEN ${isDisabled} THEN 'disabled' ELSE w.status END,
        disabled_reason = CASE WHEN ${isDisabled} THEN CASE WHEN is_gone THEN 'gone' ELSE 'failing' END END,
        updated_at = CASE WHEN ${isDisabled} THEN clock.moment ELSE w.updated_at END
      FROM clock, answer
      -- Most records change no endpoint.
      WHERE w.id = answer.id AND w.status = 'enabled' AND ((w.failing_since IS NOT NULL) = succeeds OR ${isDisabled})
      RETURNING w.id, w.organization_id, w.environment, w.disabled_reason, clock.moment
    ), audited AS (
      INSERT INTO audit_log (id, organization_id, actor, action, target, detail, created_at)
      SELECT new_type_id('aud', moment), organization_id, 'worker', 'webhook_endpoint.disabled', id,
        jsonb_build_object('environment', environment, 'reason', disabled_reason), moment
      FROM changed WHERE disabled_reason IS NOT NULL
    ), locked AS MATERIALIZED (
      SELECT d.id, d.attempts, d.status, d.leased_until, d.next_attempt_at FROM webhook_delivery AS d
      WHERE d.id = ANY (ARRAY(SELECT id FROM known))
        -- Endpoints before deliveries, and these by their ids: every statement locks in this order.
        AND (SELECT count(*) FROM changed) >= 0
      ORDER BY d.id FOR UPDATE
    ), ended AS (
      SELECT locked.*, known.is_success, (locked.attempts->-1->>'number')::int = known.number AS is_last,
        CASE WHEN locked.next_attempt_at IS DISTINCT FROM locked.leased_until THEN locked.next_attempt_at
          WHEN NOT known.is_current THEN clock.moment
          ELSE clock.moment + known.retry_in_ms * interval '1 millisecond' END AS due_at,
        ARRAY(SELECT CASE WHEN (attempt->>'number')::int <> known.number THEN attempt
          ELSE known.result
            || CASE WHEN (attempt->>'startedAt')::timestamptz <= erased_until
              THEN jsonb_build_object('responseBody', ${erasedText}::text) ELSE '{}' END
            || (attempt - 'error') || jsonb_build_object(
            'startedAt', (attempt->>'startedAt')::timestamptz + known.waited_ms * interval '1 millisecond') END
          FROM jsonb_array_elements(locked.attempts) AS attempt) AS with_result
      FROM clock, locked JOIN known USING (id)
    ), recorded AS (
      UPDATE webhook_delivery AS d SET
        attempts = to_jsonb(with_result),
        leased_until = CASE WHEN NOT is_last THEN ended.leased_until END,
        status = CASE
          WHEN NOT is_last THEN ended.status
          WHEN is_success THEN 'succeeded'
          WHEN ended.status = 'pending' AND due_at IS NOT NULL THEN 'pending'
          ELSE 'failed' END,
        next_attempt_at = CASE
          WHEN NOT is_last THEN ended.next_attempt_at
          WHEN NOT is_success AND ended.status = 'pending' THEN due_at END
      FROM ended WHERE d.id = ended.id
    )
    SELECT known.id AS "deliveryId", known.endpoint_id AS "endpointId", changed.disabled_reason AS "disabledReason",
      w.status = 'enabled' AND changed.disabled_reason IS NULL AND known.is_current AS "maySendMore"
    FROM known JOIN webhook_endpoint AS w ON w.id = ANY (ARRAY[known.endpoint_id]) LEFT JOIN changed ON changed.id = known.endpoint_id`;
}
