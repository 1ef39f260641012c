-- Writes the next entry of a refund's timeline. The caller holds the refund's work row, or the refund's own row where there
-- is no work, which makes the numbers gapless.
CREATE OR REPLACE FUNCTION append_refund_event(
  event_id text, refund refund, previous refund_status, event_type text, event_actor text, event_detail jsonb, moment timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at)
  SELECT event_id, refund.id, coalesce(max(earlier.seq), 0) + 1, event_type, event_actor, previous, refund.status,
    coalesce(event_detail, '{}'), moment
  FROM refund_event AS earlier WHERE earlier.refund_id = refund.id;
END
$$;
