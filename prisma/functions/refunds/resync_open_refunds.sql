-- Requests a resync of open refunds, except of those that had one requested since the recovery is required. Such a refund may be at its
-- processor: it is looked up or read before anything else, and a cancellation waits for that.
--
-- most  how many at once, because a statement has a time limit; null for all
-- Returns how many refunds it changed.
CREATE OR REPLACE FUNCTION resync_open_refunds(most int) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
  asked int;
BEGIN
  WITH open AS MATERIALIZED (
    SELECT w.refund_id FROM refund_work AS w JOIN refund AS r ON r.id = w.refund_id
    WHERE r.status = 'processing'
      AND (w.resync_requested_at IS NULL OR w.resync_requested_at < (SELECT required_since FROM recovery WHERE id = 1))
    ORDER BY w.refund_id LIMIT most
    FOR UPDATE OF w
  )
  UPDATE refund_work AS w SET due_at = LEAST(w.due_at, moment), resync_requested_at = moment
  FROM open WHERE w.refund_id = open.refund_id;
  GET DIAGNOSTICS asked = ROW_COUNT;
  RETURN asked;
END
$$;
