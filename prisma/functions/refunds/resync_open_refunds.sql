-- Counts everything that is open as possibly at its processor: it is looked up or read before anything else, and a cancellation waits
-- for that.
CREATE OR REPLACE FUNCTION resync_open_refunds() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM request_resync(r.id)
  FROM (SELECT w.refund_id FROM refund_work AS w ORDER BY w.refund_id FOR UPDATE) AS held
  JOIN refund AS r ON r.id = held.refund_id AND r.status = 'processing';
END
$$;
