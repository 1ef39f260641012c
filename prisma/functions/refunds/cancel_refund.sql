-- Cancels a refund that cannot be at its processor, or requests its cancellation. Never waits for another session.
--
-- asked: {refund_id, organization_id, environment, actor, key, event_id, audit_id}
--   key        the request's idempotency key; a refund keeps the first one
--   refund_id  null when the id of the request is malformed
--   audit_id   null for API keys, whose requests are in the timeline only
--
-- outcome:
--   cancelled  done; nothing was sent to the processor
--   requested  the processor has the refund or may have it: a worker goes on
--   refused    the refund has ended, or the processor has refused hundreds of requests
--   replayed   an earlier request with this key cancelled it or requested that
--   reused     the key belongs to another request
--   missing    no such refund of this organization and environment
--   recovering it awaits approval, and a recovery is required: it may have been approved and sent after the backup
--   locked     nothing was done; call again
CREATE OR REPLACE FUNCTION cancel_refund(asked jsonb, OUT outcome text, OUT refund jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
  held refund;
  work refund_work;
BEGIN
  IF asked->>'key' IS NOT NULL AND NOT pg_try_advisory_xact_lock(hashtextextended(
    concat_ws('/', 'key', asked->>'organization_id', asked->>'environment', asked->>'key'), 0)) THEN
    outcome := 'locked'; RETURN;
  END IF;
  SELECT * INTO held FROM refund AS r WHERE r.id = asked->>'refund_id'
    AND r.organization_id = asked->>'organization_id' AND r.environment = (asked->>'environment')::environment;
  refund := to_jsonb(held);
  IF held.cancel_key = asked->>'key' THEN
    outcome := 'replayed'; RETURN;
  END IF;
  -- Two lookups, each by its own unique index.
  IF asked->>'key' IS NOT NULL AND (EXISTS (
    SELECT FROM refund AS r
    WHERE r.organization_id = asked->>'organization_id'
      AND r.environment = (asked->>'environment')::environment AND r.idempotency_key = asked->>'key'
  ) OR EXISTS (
    SELECT FROM refund AS r
    WHERE r.organization_id = asked->>'organization_id'
      AND r.environment = (asked->>'environment')::environment AND r.cancel_key = asked->>'key')) THEN
    outcome := 'reused'; RETURN;
  END IF;
  IF held.id IS NULL THEN
    outcome := 'missing'; RETURN;
  END IF;
  IF held.status NOT IN ('pending', 'processing') THEN
    outcome := 'refused'; RETURN;
  END IF;

  -- A row that was just joined to another one is gone and counts as locked: the next call finds the other one.
  PERFORM FROM payment AS p WHERE p.id = held.payment_id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    outcome := 'locked'; RETURN;
  END IF;
  SELECT * INTO work FROM refund_work AS w WHERE w.refund_id = held.id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND AND (held.status = 'processing' OR EXISTS (SELECT FROM refund_work AS w WHERE w.refund_id = held.id)) THEN
    outcome := 'locked'; RETURN;
  END IF;
  -- Read again under the lock: it may have moved.
  SELECT * INTO held FROM refund AS r WHERE r.id = held.id AND r.status = held.status;
  IF NOT FOUND THEN
    outcome := 'locked'; RETURN;
  END IF;

  IF is_not_sent(held, work, (SELECT s FROM recovery AS s WHERE s.id = 1)) THEN
    SELECT * INTO held FROM move_refunds(jsonb_build_array(jsonb_build_object(
      'refund_id', held.id, 'expected', held.status,
      'entries', jsonb_build_array(jsonb_build_object(
        'event_id', asked->'event_id', 'type', 'refund.cancelled', 'to', 'cancelled', 'detail', '{"sent": false}'::jsonb)),
      'change', jsonb_strip_nulls(jsonb_build_object('cancel_key', asked->'key')))), asked->>'actor', moment);
    IF NOT FOUND THEN
      outcome := 'locked'; RETURN;
    END IF;
    PERFORM continue_refund_works(jsonb_build_array(jsonb_build_object(
      'refund_id', held.id, 'ends_cancel', true, 'flag', '{}'::jsonb)), moment);
    outcome := 'cancelled';
  ELSIF held.status = 'pending' THEN
    outcome := 'recovering'; RETURN;
  ELSIF work.cancel_requested_at IS NULL
    AND (SELECT max(e.seq) FROM refund_event AS e WHERE e.refund_id = held.id) >= 2000 THEN
    -- Each request adds two entries to the timeline. Notes and metadata stop at 1,000, so that they take no room of these.
    outcome := 'refused'; RETURN;
  ELSE
    outcome := 'requested';
    IF asked->>'key' IS NOT NULL AND held.cancel_key IS NULL THEN
      UPDATE refund AS r SET cancel_key = asked->>'key' WHERE r.id = held.id RETURNING * INTO held;
    END IF;
    IF work.cancel_requested_at IS NULL THEN
      UPDATE refund_work AS w SET cancel_requested_at = moment, due_at = LEAST(w.due_at, moment)
      WHERE w.refund_id = held.id;
      PERFORM move_refunds(jsonb_build_array(jsonb_build_object(
        'refund_id', held.id, 'expected', held.status,
        'entries', jsonb_build_array(jsonb_build_object(
          'event_id', asked->'event_id', 'type', 'cancel.requested', 'to', held.status)),
        'change', '{}'::jsonb)), asked->>'actor', moment);
    END IF;
  END IF;
  refund := to_jsonb(held);
  IF asked->>'audit_id' IS NOT NULL THEN
    INSERT INTO audit_log (id, organization_id, actor, action, target, detail, created_at)
    VALUES (asked->>'audit_id', held.organization_id, asked->>'actor', 'refund.cancel_requested', held.id, '{}', moment);
  END IF;
END
$$;
