-- Whether events of this type are shown to clients; the others are entries of the internal timeline. The constraint
-- refund_event_public_in_feed has the same rule. shared/refunds/model/event-types.ts lists the types.
CREATE OR REPLACE FUNCTION is_public_event(event_type text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT starts_with(event_type, 'refund.')
$$;
