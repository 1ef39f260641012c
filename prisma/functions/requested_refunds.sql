-- The refunds of a requester in an environment that were created between two moments and have neither failed nor been cancelled:
-- how many, and what those in a currency come to.
--
-- requester: see requester_of.sql.
CREATE OR REPLACE FUNCTION requested_refunds(
  owner_id text, owner_environment environment, requester text, asked_currency text, since timestamptz, before timestamptz
) RETURNS TABLE (made_count bigint, made_amount bigint)
LANGUAGE plpgsql STABLE
-- Keep one plan with index scans: a plan made while the tables were small would scan them sequentially.
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
AS $$
BEGIN
  RETURN QUERY
  WITH RECURSIVE acting(actor) AS (
    SELECT requester
    UNION
    SELECT 'key:' || created.id FROM acting JOIN api_key AS created ON created.created_by = acting.actor
    WHERE created.organization_id = owner_id AND created.environment = owner_environment
  ), made AS (
    SELECT r.amount, r.currency, r.status FROM acting JOIN refund AS r ON r.api_key_id = substr(acting.actor, 5)
    WHERE r.created_at > since AND r.created_at < before
    UNION ALL
    SELECT r.amount, r.currency, r.status
    FROM refund AS r JOIN refund_event AS asked ON asked.refund_id = r.id AND asked.seq = 1
    WHERE requester LIKE 'user:%' AND r.api_key_id IS NULL AND r.organization_id = owner_id
      AND r.environment = owner_environment AND r.created_at > since AND r.created_at < before AND asked.actor = requester
  )
  SELECT count(*), coalesce(sum(made.amount) FILTER (WHERE made.currency = asked_currency), 0)::bigint
  FROM made WHERE made.status IN ('pending', 'processing', 'completed');
END
$$;
