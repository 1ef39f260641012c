-- Whether events of this type are shown to clients; the others are entries of the internal timeline. The same list is in the
-- constraint refund_event_public_in_feed and in shared/events/event.ts.
CREATE OR REPLACE FUNCTION is_public_event(event_type text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT event_type IN ('refund.created', 'refund.approval_required', 'refund.processing',
    'refund.completed', 'refund.failed', 'refund.cancelled')
$$;
