-- True for an account whose trouble is reported: one with credentials of its own, or a connected one that was used in the last 30 days. Those
-- that disconnected long ago would be reported for ever; a refund that waits for one is flagged.
CREATE OR REPLACE FUNCTION watches_account(a processor_account) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT a.parent_id IS NULL OR a.used_at > service_time() - interval '30 days'
$$;
