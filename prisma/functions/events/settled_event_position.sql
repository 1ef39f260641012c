-- Up to this position the feed is complete: every event there has been committed, or never will be. Only a statement that
-- begins after this function has returned is sure to see them all.
--
-- It is the last position that was drawn, or the lowest announcement (announce_events.sql) that is still held. A
-- transaction that announces its events only after last_value was read here draws higher positions than that. No other
-- transaction holds it back, however long it runs.
CREATE OR REPLACE FUNCTION settled_event_position() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last_drawn bigint;
  furthest_behind bigint;
BEGIN
  SELECT last_value INTO last_drawn FROM refund_event_position;
  -- How far each announcement is behind. The keys have 31 bits: what seems to be more than half of that behind is ahead.
  SELECT max(behind) INTO furthest_behind
  FROM pg_locks AS l
  CROSS JOIN LATERAL (SELECT (last_drawn - l.objid::bigint) & 2147483647 AS behind) AS distance
  WHERE l.locktype = 'advisory' AND l.classid = 724366102 AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND behind < 1073741824;
  RETURN last_drawn - coalesce(furthest_behind, 0);
END
$$;
