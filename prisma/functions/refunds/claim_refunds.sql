-- Claims the named refunds for one call to their processor each, as lease_refunds.sql says. Leaves out a refund that is not due,
-- that another worker holds, or that grant_calls.sql does not grant a call, and all while nothing may be sent (may_advance.sql says what
-- `reached` is).
--
-- items: a JSON array of {refund_id, per_second}, the latter as refund_calls.sql says, and the same in all of them. lease_ms: longer than
-- any call to a processor can last.
CREATE OR REPLACE FUNCTION claim_refunds(items jsonb, lease_ms int, reached jsonb)
RETURNS TABLE (refund_id text, claim json)
LANGUAGE plpgsql
-- Keep one plan: the planner would plan again for each number of refunds.
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  held text[];
BEGIN
  IF NOT may_advance(reached, moment) THEN
    RETURN;
  END IF;
  -- One row at a time, by its primary key.
  SELECT array_agg(locked.refund_id) INTO held
  FROM (SELECT DISTINCT i.refund_id FROM jsonb_to_recordset(items) AS i(refund_id text) ORDER BY 1) AS asked
  CROSS JOIN LATERAL (
    SELECT w.refund_id, w.due_at, w.leased_until FROM refund_work AS w WHERE w.refund_id = asked.refund_id
    FOR UPDATE SKIP LOCKED
  ) AS locked
  WHERE locked.due_at <= moment AND (locked.leased_until IS NULL OR locked.leased_until <= moment);

  -- A separate statement, because it must see what was committed before the rows were locked.
  held := (SELECT g.granted FROM grant_calls(held, items->0->'per_second', moment) AS g);
  RETURN QUERY SELECT * FROM lease_refunds(held, moment, lease_ms);
END
$$;
