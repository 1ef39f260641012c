-- The refunds of a requester in an environment that were created between two moments and have neither failed nor been cancelled.
--
-- requester: see requester_of.sql.
CREATE OR REPLACE FUNCTION refunds_of_requester(
  owner_id text, owner_environment environment, requester text, since timestamptz, before timestamptz
) RETURNS TABLE (amount bigint, currency text, created_at timestamptz)
LANGUAGE plpgsql STABLE
-- Keep one plan that reads by key, in the order of the joins as written: one made while the tables were small would scan them.
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
BEGIN
  RETURN QUERY
  WITH RECURSIVE acting(actor) AS (
    SELECT requester
    UNION
    SELECT 'key:' || created.id FROM acting CROSS JOIN LATERAL (
      -- By the creator alone: an organization may have many more keys.
      SELECT * FROM api_key WHERE created_by = acting.actor OFFSET 0
    ) AS created
    WHERE created.organization_id = owner_id AND created.environment = owner_environment
  ), made AS (
    SELECT of_key.* FROM acting CROSS JOIN LATERAL (
      SELECT r.amount, r.currency, r.status, r.created_at FROM refund AS r
      WHERE r.api_key_id = substr(acting.actor, 5) AND r.created_at > since AND r.created_at < before
      -- Key by key: joined at once, the refunds of all keys in this time would be read.
      OFFSET 0
    ) AS of_key
    UNION ALL
    SELECT r.amount, r.currency, r.status, r.created_at
    FROM refund AS r LEFT JOIN refund_event AS asked ON asked.refund_id = r.id AND asked.seq = 1
    WHERE requester LIKE 'user:%' AND r.api_key_id IS NULL AND r.organization_id = owner_id
      AND r.environment = owner_environment AND r.created_at > since AND r.created_at < before
      -- One that this very call of create_refunds made has no event yet. It counts for every person in the call; one who exceeds a
      -- limit with it is decided about again.
      AND coalesce(asked.actor, requester) = requester
  )
  SELECT made.amount, made.currency::text, made.created_at
  FROM made WHERE made.status IN ('pending', 'processing', 'completed');
END
$$;
