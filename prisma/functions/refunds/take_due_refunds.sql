-- Marks refunds of a processor that are due as enqueued, so that concurrent sweeps share the work and a backlog is not enqueued by
-- every sweep. Returns those that were not enqueued within the last repeat_ms, for which their job counts as lost; the longest
-- due ones, up to the given number.
CREATE OR REPLACE FUNCTION take_due_refunds(named_processor text, repeat_ms int, most int) RETURNS SETOF text
LANGUAGE plpgsql
-- The table is usually next to empty. A plan from such a time would read and sort all of it in a backlog.
SET enable_seqscan = off
AS $$
DECLARE
  moment timestamptz := service_time();
BEGIN
  -- Chosen in an array, which is computed once; a subquery may be computed again for each row.
  RETURN QUERY UPDATE refund_work SET enqueued_at = moment
  WHERE ctid = ANY (ARRAY(
    SELECT w.ctid FROM refund_work AS w
    WHERE w.processor = named_processor AND w.due_at <= moment AND (w.leased_until IS NULL OR w.leased_until <= moment)
      AND (w.enqueued_at IS NULL OR w.enqueued_at <= moment - repeat_ms * interval '1 millisecond')
    ORDER BY w.due_at LIMIT most
    FOR UPDATE SKIP LOCKED))
  RETURNING refund_id;
END
$$;
