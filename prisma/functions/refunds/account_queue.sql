-- How many refunds with work that is due now or later an account with credentials has, or those that are connected to it together, and
-- since when the longest due one is due (NULL when none is). Counted up to `most`, among the five times as many that are due first: both
-- kinds are in one order, so one of them counts as none behind more than that of the other.
CREATE OR REPLACE FUNCTION account_queue(of_account text, named_processor text, owner_id text, owner_environment environment,
  connected boolean, most int)
RETURNS TABLE (waiting int, due_since timestamptz)
LANGUAGE plpgsql STABLE
-- As claim_due_refunds.sql.
SET plan_cache_mode = force_generic_plan SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
BEGIN
  RETURN QUERY SELECT count(*)::int, min(counted.due_at) FILTER (WHERE counted.due_at <= moment) FROM (
    SELECT longest.due_at FROM (
      SELECT w.parent_id, w.due_at FROM refund_work AS w
      -- The whole key of the index, so that no other one has this order.
      WHERE w.processor = named_processor
        AND (w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at)
          >= (owner_id, owner_environment, of_account, '-infinity')
        AND (w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at)
          <= (owner_id, owner_environment, of_account, 'infinity')
      ORDER BY w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at, w.refund_id LIMIT 5 * most
    ) AS longest
    WHERE (longest.parent_id IS NOT NULL) = connected LIMIT most
  ) AS counted;
END
$$;
