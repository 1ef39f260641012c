-- One page of an organization's event feed, oldest first, with the refunds.
--
-- after_id: the event to continue after; null for the first page. only_type: null for all types.
--
-- Returns no row when after_id is not an event of this feed. When no event follows, returns one row without an event.
-- read_to: the position up to which the feed has been read.
CREATE OR REPLACE FUNCTION read_events(
  owner_id text, owner_environment environment, after_id text, only_type text, page_size int
) RETURNS TABLE (event refund_event, refund refund, read_to bigint)
LANGUAGE plpgsql VOLATILE
-- Plan for the given type: rare ones have an index of their own.
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  after_position bigint := 0;
BEGIN
  IF after_id IS NOT NULL THEN
    SELECT e.position INTO after_position FROM refund_event AS e
    WHERE e.id = after_id AND e.position IS NOT NULL
      AND e.organization_id = owner_id AND e.environment = owner_environment;
    IF NOT FOUND THEN
      RETURN;
    END IF;
  END IF;
  read_to := settled_event_position();
  -- A statement of its own: its snapshot is taken after the settled position was found.
  RETURN QUERY SELECT e, r, e.position FROM refund_event AS e JOIN refund AS r ON r.id = e.refund_id
    WHERE e.organization_id = owner_id AND e.environment = owner_environment
      AND e.position > after_position AND e.position <= read_to AND (only_type IS NULL OR e.type = only_type)
    ORDER BY e.position LIMIT page_size;
  IF NOT FOUND THEN
    read_to := greatest(after_position, read_to);
    RETURN NEXT;
  END IF;
END
$$;
