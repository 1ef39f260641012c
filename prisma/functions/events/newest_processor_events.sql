-- The newest events of processors that an account has stored.
CREATE OR REPLACE FUNCTION newest_processor_events(of_account text, most int) RETURNS SETOF processor_event
LANGUAGE sql STABLE
-- From the index in this order: the one of all accounts would be searched for those of this one.
SET enable_sort = off SET enable_incremental_sort = off
AS $$
  SELECT * FROM processor_event WHERE account_id = of_account
  ORDER BY received_at DESC, external_event_id DESC LIMIT most
$$;
