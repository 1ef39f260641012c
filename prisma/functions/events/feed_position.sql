-- The last position in the event feed that is committed; 0 for an empty feed.
CREATE OR REPLACE FUNCTION feed_position() RETURNS bigint
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN coalesce((
    SELECT e.position FROM refund_event AS e WHERE e.position IS NOT NULL ORDER BY e.position DESC LIMIT 1), 0);
END
$$;
