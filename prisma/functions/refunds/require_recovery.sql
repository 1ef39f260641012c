-- Requires a recovery, unless it is required already. Nothing is sent from now on; see may_advance.sql. What is open counts as
-- possibly at its processor: it is looked up or read before anything else, and a cancellation waits for that.
CREATE OR REPLACE FUNCTION require_recovery(moment timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE recovery SET required_since = moment WHERE id = 1 AND required_since IS NULL;
  IF FOUND THEN
    PERFORM request_resync(r.id)
    FROM (SELECT w.refund_id FROM refund_work AS w ORDER BY w.refund_id FOR UPDATE) AS held
    JOIN refund AS r ON r.id = held.refund_id AND r.status = 'processing';
  END IF;
END
$$;
