-- Makes the webhook deliveries of new events and moves webhook_cursor behind them. The events of at most that many positions
-- are taken, in the order of the feed. An event goes to the endpoints of its organization and environment that are enabled
-- now and whose filter includes its type, also to one that was created a moment after the event.
--
-- No row: there is nothing new, or another session is making them. Otherwise one row:
--   has_more      there are further events
--   to_enqueue    the deliveries that may start now; the others follow as attempts end
CREATE OR REPLACE FUNCTION create_deliveries(most_positions int)
RETURNS TABLE (has_more boolean, to_enqueue text[])
LANGUAGE plpgsql VOLATILE
-- Read events by their positions and endpoints by their owners, also while the planner has no statistics yet.
SET plan_cache_mode = force_custom_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
DECLARE
  moment timestamptz;
  settled bigint := settled_event_position();
  reached bigint;
  upto bigint;
BEGIN
  -- Without a lock, because most rounds end here.
  IF (SELECT c.position FROM webhook_cursor AS c) >= settled THEN
    RETURN;
  END IF;
  SELECT c.position INTO reached FROM webhook_cursor AS c FOR UPDATE SKIP LOCKED;
  upto := least(settled, reached + most_positions);
  IF reached IS NULL OR upto <= reached THEN
    RETURN;
  END IF;
  moment := service_time();
  has_more := upto < settled;
  -- Its snapshot is taken after the settled position was found, so it sees all of these events.
  WITH new_event AS MATERIALIZED (
    SELECT e.id, e.type, e.refund_id, e.position, e.organization_id, e.environment FROM refund_event AS e
    WHERE e.position > reached AND e.position <= upto
  ), made AS (
    INSERT INTO webhook_delivery (id, endpoint_id, event_id, type, refund_id, position, next_attempt_at, created_at)
    SELECT new_type_id('del', moment), w.id, e.id, e.type, e.refund_id, e.position, moment, moment
    FROM new_event AS e
    JOIN webhook_endpoint AS w ON w.organization_id = e.organization_id AND w.environment = e.environment
    WHERE w.status = 'enabled' AND (e.type = ANY (w.events) OR '*' = ANY (w.events))
    ON CONFLICT DO NOTHING
    RETURNING id, endpoint_id, refund_id, position
  ), numbered AS (
    SELECT id, endpoint_id, position, row_number() OVER (PARTITION BY endpoint_id, refund_id ORDER BY position) AS turn
    FROM made
  ), chosen AS (
    SELECT id, position, row_number() OVER (PARTITION BY endpoint_id ORDER BY position) AS place
    FROM numbered WHERE turn = 1
  )
  SELECT coalesce(array_agg(id ORDER BY position) FILTER (WHERE place <= most_attempts(NULL)), '{}')
  INTO to_enqueue FROM chosen;
  UPDATE webhook_cursor SET position = upto;
  RETURN NEXT;
END
$$;
