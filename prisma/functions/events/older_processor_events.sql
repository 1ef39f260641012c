-- The newest events of processors that an account has stored: those before a position, or of all where the position is null.
CREATE OR REPLACE FUNCTION older_processor_events(of_account text, before_time timestamptz, before_id text, most int)
RETURNS SETOF processor_event
LANGUAGE sql STABLE
-- From the index in this order: the one of all accounts would be searched for those of this one.
SET enable_sort = off SET enable_incremental_sort = off
AS $$
  SELECT * FROM processor_event
  WHERE account_id = of_account
    AND (received_at, external_event_id) < (coalesce(before_time, 'infinity'), coalesce(before_id, ''))
  ORDER BY received_at DESC, external_event_id DESC LIMIT most
$$;
