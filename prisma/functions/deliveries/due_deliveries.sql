-- The deliveries that may start now: the longest due ones of each endpoint, up to its limit of concurrent attempts.
--
-- endpoint_ids: null for all endpoints.
-- most: the maximum number of deliveries, null for all. The first of each endpoint come before the second ones.
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
