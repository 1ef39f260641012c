-- The calls that the next steps of refunds make, in the order of `ids`, and the limits of their operations.
--
-- per_second: the rate of accounts without one of their own, of each environment: {"live": 20, "test": 20}; 0 is no limit
--
-- operation      as operation_of_step.sql names it; NULL for a step without a call
-- rate           as operation_rate.sql says
-- paused_until   no call is made before then; NULL while it is not paused. A pause of more than an hour was noted before the clock of the
--                database was set back, and is ignored.
CREATE OR REPLACE FUNCTION refund_calls(ids text[], per_second jsonb, moment timestamptz)
RETURNS TABLE (refund_id text, turn bigint, account_id text, operation text, rate float8, paused_until timestamptz)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT called.refund_id, called.turn, called.account_id, called.operation,
    operation_rate(coalesce(called.calls_per_second, (per_second->>called.environment::text)::float8), limited.noted, moment),
    CASE WHEN limited.until > moment AND limited.until <= moment + interval '1 hour' THEN limited.until END
  FROM (
    SELECT asked.refund_id, asked.turn, a.id AS account_id, a.environment, a.calls_per_second, a.rate_limits,
      operation_of_step(
        next_refund_step(r, work.w, (SELECT s FROM recovery AS s WHERE s.id = 1), p.currency = r.currency, moment), r.external_refund_id) AS operation
    FROM unnest(ids) WITH ORDINALITY AS asked(refund_id, turn)
    -- OFFSET 0: see lease_refunds.sql.
    CROSS JOIN LATERAL (SELECT w FROM refund_work AS w WHERE w.refund_id = asked.refund_id OFFSET 0) AS work
    JOIN refund AS r ON r.id = asked.refund_id
    JOIN payment AS p ON p.id = r.payment_id
    JOIN processor_account AS a ON a.id = r.account_id
    -- So that the step is decided once for each.
    OFFSET 0
  ) AS called
  CROSS JOIN LATERAL (
    SELECT called.rate_limits->called.operation AS noted,
      (called.rate_limits->called.operation->>'pausedUntil')::timestamptz AS until
  ) AS limited;
END
$$;
