-- Announces that this transaction is about to add events to the feed. To be called once, in a statement of its own, before
-- the first nextval('refund_event_position').
--
-- The announcement is an advisory lock that lasts as long as the transaction. Its key is the last position that was drawn
-- before, so every position of this transaction is above it. settled_event_position reads these locks; they are shared, and
-- nothing waits for them.
CREATE OR REPLACE FUNCTION announce_events() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  -- 724366102 marks these locks. The key has 31 bits, the position up to 63.
  PERFORM pg_advisory_xact_lock_shared(724366102, (last_value & 2147483647)::int) FROM refund_event_position;
END
$$;
