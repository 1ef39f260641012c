-- The deliveries that may start now: for each endpoint the longest due ones, as many as its limit of concurrent attempts leaves.
--
-- endpoint_ids: null for all endpoints.
-- most: how many deliveries at most; the first of each endpoint come before the second ones. Null for all.
CREATE OR REPLACE FUNCTION due_deliveries(endpoint_ids text[], most int) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
-- Read rows by key, also while the planner has no statistics yet.
SET plan_cache_mode = force_custom_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  moment timestamptz := service_time();
BEGIN
  RETURN QUERY SELECT due.id FROM webhook_endpoint AS w
    CROSS JOIN LATERAL (
      SELECT count(*) AS running FROM webhook_delivery AS d WHERE d.endpoint_id = w.id AND d.leased_until > moment
    ) AS under_way
    CROSS JOIN LATERAL (
      SELECT d.id, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at, d.position) AS turn
      FROM webhook_delivery AS d
      WHERE d.endpoint_id = w.id AND d.next_attempt_at <= moment AND (d.leased_until IS NULL OR d.leased_until <= moment)
        AND NOT EXISTS (SELECT FROM deliveries_ahead(d.endpoint_id, d.refund_id, d.position))
      ORDER BY d.next_attempt_at, d.position
      LIMIT greatest(0, most_attempts(w.failing_since) - under_way.running)
    ) AS due
    WHERE endpoint_ids IS NULL OR w.id = ANY (endpoint_ids)
    ORDER BY due.turn, due.next_attempt_at LIMIT most;
END
$$;
