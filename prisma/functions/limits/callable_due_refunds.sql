-- Which refunds of an account, of these in their order, may be called for at this moment, as far as the limits of their operations say. Those
-- that grant_calls.sql postpones are among them. per_second: see refund_calls.sql.
CREATE OR REPLACE FUNCTION callable_due_refunds(ids text[], per_second jsonb, moment timestamptz) RETURNS text[]
LANGUAGE plpgsql STABLE
AS $$
BEGIN
  RETURN ARRAY (
    SELECT c.refund_id FROM (
      SELECT *, row_number() OVER (PARTITION BY operation ORDER BY turn) AS place FROM refund_calls(ids, per_second, moment)
    ) AS c
    LEFT JOIN operation_calls AS o ON o.account_id = c.account_id AND o.operation = c.operation
    WHERE CASE
      WHEN c.paused_until IS NOT NULL THEN is_long_pause(c.paused_until, moment)
      ELSE c.operation IS NULL OR c.rate IS NULL OR c.place <= free_calls(o.spent_until, c.rate, moment) END
    ORDER BY c.turn);
END
$$;
