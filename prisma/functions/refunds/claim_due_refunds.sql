-- Claims the longest due refunds of a processor, up to the given number, for one call each, as lease_refunds.sql says. Concurrent
-- workers share the work. Returns one row for each refund that it looked at; the claim is null where the account is throttled.
-- Fewer rows than asked for: nothing more was due, or nothing may be sent (may_advance.sql says what `reached` is).
CREATE OR REPLACE FUNCTION claim_due_refunds(named_processor text, most int, lease_ms int, reached jsonb)
RETURNS TABLE (refund_id text, claim json)
LANGUAGE plpgsql
-- Keep one plan that reads refund_work_due in its order: the table is usually next to empty, and a plan from such a time would
-- read and sort all of it in a backlog.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  held text[];
BEGIN
  IF NOT may_advance(reached, moment) THEN
    RETURN;
  END IF;
  held := ARRAY (
    SELECT w.refund_id FROM refund_work AS w
    WHERE w.processor = named_processor AND w.due_at <= moment AND (w.leased_until IS NULL OR w.leased_until <= moment)
    ORDER BY w.due_at LIMIT most
    FOR UPDATE SKIP LOCKED);
  -- A separate statement, because it must see what was committed before the rows were locked.
  RETURN QUERY SELECT * FROM lease_refunds(held, moment, lease_ms);
END
$$;
