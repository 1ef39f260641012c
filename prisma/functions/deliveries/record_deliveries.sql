-- Records how attempts ended, and what follows for the deliveries and their endpoints. Only the last attempt of a delivery
-- decides about it: a worker whose lease was lost changes nothing but its own attempt.
--
-- A delivery that succeeded ends, also if its endpoint was disabled meanwhile. One that failed is due again after retry_in_ms,
-- or at once if another attempt was requested meanwhile. An endpoint that answers that it is gone, or that fails five days or
-- more after the first of its consecutive failures, is disabled. The caller ends its pending deliveries, of which there may be many.
--
-- items: a JSON array of objects:
--   delivery_id, number    the attempt
--   duration_ms, response_status, response_body
--   error                  null when it succeeded
--   retry_in_ms            null when no further attempt is scheduled
--   is_gone                true when the endpoint asks for no more events
--
-- One row:
--   disabled      [{endpoint_id, reason}] of the endpoints that were disabled
--   to_enqueue    the deliveries to these endpoints that may start now
CREATE OR REPLACE FUNCTION record_deliveries(items jsonb)
RETURNS TABLE (disabled jsonb, to_enqueue text[])
LANGUAGE plpgsql
-- Read rows by key, also while the planner has no statistics yet.
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  endpoints text[];
  succeeding text[];
  gone text[];
BEGIN
  -- Deliveries may have been deleted meanwhile, even all of them. NULL would stand for all endpoints.
  SELECT coalesce(array_agg(DISTINCT d.endpoint_id), '{}'),
    coalesce(array_agg(d.endpoint_id) FILTER (WHERE i.error IS NULL), '{}'),
    coalesce(array_agg(d.endpoint_id) FILTER (WHERE i.is_gone), '{}')
  INTO endpoints, succeeding, gone
  FROM jsonb_to_recordset(items) AS i(delivery_id text, error text, is_gone boolean)
  JOIN webhook_delivery AS d ON d.id = i.delivery_id;

  -- Endpoints before deliveries: every statement locks in this order. Most records change no endpoint.
  UPDATE webhook_endpoint AS w SET failing_since = CASE WHEN w.id = ANY (succeeding) THEN NULL ELSE moment END
  WHERE w.id = ANY (endpoints) AND (w.failing_since IS NOT NULL) = (w.id = ANY (succeeding));

  WITH changed AS (
    UPDATE webhook_endpoint AS w SET status = 'disabled', failing_since = NULL, updated_at = moment,
      disabled_reason = CASE WHEN w.id = ANY (gone) THEN 'gone' ELSE 'failing' END
    WHERE w.id = ANY (endpoints) AND w.status = 'enabled'
      AND (w.id = ANY (gone) OR w.failing_since <= moment - interval '5 days')
    RETURNING w.id, w.organization_id, w.environment, w.disabled_reason
  ), audited AS (
    INSERT INTO audit_log (id, organization_id, actor, action, target, detail, created_at)
    SELECT new_type_id('aud', moment), organization_id, 'worker', 'webhook_endpoint.disabled', id,
      jsonb_build_object('environment', environment, 'reason', disabled_reason), moment
    FROM changed
  )
  SELECT coalesce(jsonb_agg(jsonb_build_object('endpoint_id', id, 'reason', disabled_reason)), '[]')
  INTO disabled FROM changed;

  UPDATE webhook_attempt AS a
  SET duration_ms = i.duration_ms, response_status = i.response_status, response_body = i.response_body, error = i.error
  FROM jsonb_to_recordset(items)
    AS i(delivery_id text, number int, duration_ms int, response_status int, response_body text, error text)
  WHERE a.delivery_id = i.delivery_id AND a.number = i.number;

  UPDATE webhook_delivery AS d SET
    leased_until = NULL,
    status = CASE
      WHEN last.error IS NULL THEN 'succeeded'
      WHEN d.status = 'pending' AND last.next_attempt_at IS NOT NULL THEN 'pending'
      ELSE 'failed' END::webhook_delivery_status,
    next_attempt_at = CASE WHEN last.error IS NOT NULL AND d.status = 'pending' THEN last.next_attempt_at END
  FROM (
    SELECT locked.id, i.error, CASE
      WHEN locked.next_attempt_at IS DISTINCT FROM locked.leased_until THEN locked.next_attempt_at
      ELSE moment + i.retry_in_ms * interval '1 millisecond' END AS next_attempt_at
    FROM jsonb_to_recordset(items) AS i(delivery_id text, number int, error text, retry_in_ms bigint)
    JOIN webhook_delivery AS locked ON locked.id = i.delivery_id
    WHERE i.number = (SELECT max(a.number) FROM webhook_attempt AS a WHERE a.delivery_id = i.delivery_id)
    ORDER BY locked.id FOR UPDATE OF locked
  ) AS last
  WHERE d.id = last.id;

  SELECT coalesce(array_agg(due), '{}') INTO to_enqueue FROM due_deliveries(endpoints, NULL) AS due;
  RETURN NEXT;
END
$$;
