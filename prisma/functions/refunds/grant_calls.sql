-- Takes the calls for the next steps of refunds, whose refund_work rows the caller has locked in an earlier statement. per_second: see
-- refund_calls.sql.
--
-- granted    those that may be called for now; their calls are counted
-- postponed  those of an operation that is paused for long, to the end of the pause, so that they are not looked at again and again
--
-- The others keep their places among what is due, until the rate of their operation allows more.
CREATE OR REPLACE FUNCTION grant_calls(
  held text[], per_second jsonb, moment timestamptz, OUT granted text[], OUT postponed text[])
LANGUAGE plpgsql
AS $$
DECLARE
  called record;
BEGIN
  granted := '{}';
  postponed := '{}';
  FOR called IN
    SELECT c.account_id, c.operation, c.rate, c.paused_until, array_agg(c.refund_id ORDER BY c.turn) AS refunds
    FROM refund_calls(held, per_second, moment) AS c
    GROUP BY c.account_id, c.operation, c.rate, c.paused_until
    -- So that two claims cannot wait for each other.
    ORDER BY c.account_id, c.operation
  LOOP
    IF is_long_pause(called.paused_until, moment) THEN
      postponed := postponed || called.refunds;
      UPDATE refund_work AS w SET due_at = called.paused_until WHERE w.refund_id = ANY (called.refunds);
      -- What else keeps a refund from moving does so in a pause as well.
      UPDATE refund_work AS w SET waiting_for = 'rate_limited', waiting_since = moment
      WHERE w.refund_id = ANY (called.refunds)
        AND coalesce(w.waiting_for, 'settlement') IN ('settlement', 'processor_unreachable');
    ELSIF called.operation IS NULL OR (called.rate IS NULL AND called.paused_until IS NULL) THEN
      granted := granted || called.refunds;
    ELSIF called.paused_until IS NULL THEN
      granted := granted
        || called.refunds[:take_calls(called.account_id, called.operation, called.rate, cardinality(called.refunds), moment)];
    END IF;
  END LOOP;
END
$$;
