-- Claims due deliveries for one attempt each: takes the lease, inserts the attempt, and returns everything that the request
-- needs. Leaves out a delivery that is not due, that another worker holds, that has to wait for an earlier event of the same
-- refund, or whose endpoint has as many attempts under way as it may. Others stay due: record_deliveries and the sweep enqueue
-- them again.
-- Ends a delivery whose endpoint is disabled.
--
-- The attempt is written before the request is sent, so that a worker may die at any point: when the lease is over, the
-- delivery is claimed again. lease_ms: longer than an attempt can last.
CREATE OR REPLACE FUNCTION claim_deliveries(delivery_ids text[], lease_ms int)
RETURNS TABLE (delivery webhook_delivery, attempt_number int, endpoint webhook_endpoint, event refund_event, refund refund)
LANGUAGE plpgsql
-- Read rows by key, also while the planner has no statistics yet.
SET plan_cache_mode = force_custom_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
DECLARE
  moment timestamptz := service_time();
  lease_end timestamptz := moment + lease_ms * interval '1 millisecond';
  held text[];
BEGIN
  SELECT array_agg(locked.id) INTO held FROM (
    SELECT d.id FROM webhook_delivery AS d
    WHERE d.id = ANY (delivery_ids) AND d.next_attempt_at <= moment AND (d.leased_until IS NULL OR d.leased_until <= moment)
    ORDER BY d.id FOR UPDATE SKIP LOCKED
  ) AS locked;
  IF held IS NULL THEN
    RETURN;
  END IF;

  -- The worker of an earlier attempt died.
  UPDATE webhook_attempt AS a SET error = 'interrupted'
  WHERE a.delivery_id = ANY (held) AND a.duration_ms IS NULL AND a.error IS NULL;

  -- Separate statements, because they must see what was committed before the rows were locked.
  RETURN QUERY WITH known AS MATERIALIZED (
    SELECT d.id, d.endpoint_id, d.next_attempt_at, d.position, w.status, w.failing_since,
      EXISTS (SELECT FROM deliveries_ahead(d.endpoint_id, d.refund_id, d.position)) AS has_to_wait
    FROM webhook_delivery AS d JOIN webhook_endpoint AS w ON w.id = d.endpoint_id
    WHERE d.id = ANY (held)
  ), ended AS (
    UPDATE webhook_delivery AS d SET status = 'failed', next_attempt_at = NULL, leased_until = NULL
    FROM known WHERE d.id = known.id AND known.status = 'disabled'
  ), free AS MATERIALIZED (
    SELECT w.endpoint_id, most_attempts(w.failing_since) - (
      SELECT count(*) FROM webhook_delivery AS d WHERE d.endpoint_id = w.endpoint_id AND d.leased_until > moment
    ) AS slots
    FROM (SELECT DISTINCT known.endpoint_id, known.failing_since FROM known WHERE known.status = 'enabled') AS w
  ), taken AS MATERIALIZED (
    SELECT queued.id FROM (
      SELECT known.id, known.endpoint_id,
        row_number() OVER (PARTITION BY known.endpoint_id ORDER BY known.next_attempt_at, known.position) AS place
      FROM known WHERE NOT known.has_to_wait
    ) AS queued JOIN free USING (endpoint_id) WHERE queued.place <= free.slots
  ), attempted AS (
    INSERT INTO webhook_attempt (delivery_id, number, started_at)
    SELECT taken.id, 1 + (SELECT coalesce(max(a.number), 0) FROM webhook_attempt AS a WHERE a.delivery_id = taken.id), moment
    FROM taken
    RETURNING delivery_id, number
  ), leased AS (
    UPDATE webhook_delivery AS d SET leased_until = lease_end, next_attempt_at = lease_end
    FROM taken WHERE d.id = taken.id
    RETURNING d
  )
  SELECT leased.d, attempted.number, w, e, r FROM leased
  JOIN attempted ON attempted.delivery_id = (leased.d).id
  JOIN webhook_endpoint AS w ON w.id = (leased.d).endpoint_id
  LEFT JOIN refund_event AS e ON e.id = (leased.d).event_id AND e.position IS NOT NULL
  LEFT JOIN refund AS r ON r.id = (leased.d).refund_id;
END
$$;
