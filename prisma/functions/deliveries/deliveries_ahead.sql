-- The deliveries of earlier events of a refund to the same endpoint whose first attempt has not ended. A delivery starts once
-- there are none. Their retries do not count. An attempt whose worker died has not ended, so the next attempt of that delivery
-- counts instead.
CREATE OR REPLACE FUNCTION deliveries_ahead(of_endpoint text, of_refund text, before_position bigint)
RETURNS SETOF text
LANGUAGE sql STABLE AS $$
  SELECT d.id FROM webhook_delivery AS d
  WHERE d.endpoint_id = of_endpoint AND d.refund_id = of_refund AND d.position < before_position AND d.status = 'pending'
    AND NOT EXISTS (
      SELECT FROM webhook_attempt AS a
      WHERE a.delivery_id = d.id AND a.duration_ms IS NOT NULL
    )
$$;
