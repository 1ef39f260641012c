-- Moves a refund from one status to another (or to the same, for an entry that leaves it): one guarded UPDATE, its entry
-- in the timeline and, when it fails or is cancelled, the reservation given back. The only place that writes a refund's
-- status. Which moves exist is decided by the caller, from the state table in shared/refunds/model/states.ts.
--
-- The caller holds the payment's row when the reservation is given back, and then the refund's work row; locks are always
-- taken in this order.
--
-- change: columns by their names; those left out stay as they are. An entry that changes nothing else leaves the row alone.
-- Answers with the refund as it is now, or NULL when it was not in the expected status and nothing was changed.
CREATE OR REPLACE FUNCTION move_refund(
  moved_id text, expected refund_status, target refund_status, change jsonb,
  event_id text, event_type text, event_actor text, event_detail jsonb, moment timestamptz
) RETURNS refund
LANGUAGE plpgsql AS $$
DECLARE
  moved refund;
BEGIN
  IF target = expected AND coalesce(change, '{}') = '{}' THEN
    SELECT * INTO moved FROM refund WHERE id = moved_id AND status = expected;
    IF FOUND THEN
      PERFORM append_refund_event(event_id, moved, NULL, event_type, event_actor, event_detail, moment);
    END IF;
    RETURN moved;
  END IF;
  UPDATE refund SET
    status = target,
    updated_at = moment,
    external_refund_id = coalesce(change->>'external_refund_id', external_refund_id),
    accepted_at = CASE WHEN change ? 'external_refund_id' THEN coalesce(accepted_at, moment) ELSE accepted_at END,
    completed_at = CASE WHEN target = 'completed' AND expected <> 'completed' THEN moment ELSE completed_at END,
    processor_status = coalesce(change->>'processor_status', processor_status),
    failure_code = coalesce(change->>'failure_code', failure_code),
    failure_message = coalesce(change->>'failure_message', failure_message),
    cancel_key = coalesce(change->>'cancel_key', cancel_key)
  WHERE id = moved_id AND status = expected
  RETURNING * INTO moved;
  IF NOT FOUND THEN
    RETURN moved;
  END IF;
  IF target IN ('failed', 'cancelled') AND expected NOT IN ('failed', 'cancelled') THEN
    UPDATE payment SET reserved = reserved - moved.amount
    WHERE organization_id = moved.organization_id AND environment = moved.environment
      AND processor = moved.processor AND transaction_id = moved.transaction_id;
  END IF;
  PERFORM append_refund_event(
    event_id, moved, CASE WHEN target <> expected THEN expected END, event_type, event_actor, event_detail, moment);
  RETURN moved;
END
$$;
