-- Claims due refunds for one call to their processor each: takes the lease and answers with everything that the next step
-- needs. A refund that is not due, or that another worker holds or claims at this moment, is left out.
--
-- A claim to send writes the attempt down, and that its outcome is unknown, before the caller makes the call: a worker that
-- dies in the middle of it leaves the truth behind. A request to read the refund again is answered by what the holder does
-- next; for a refund that is not known to be at the processor it casts doubt on that, until a lookup has found out.
--
-- items: a JSON array of {refund_id, event_id}. lease_ms: longer than any call to a processor can last.
--
-- step, from what is on record alone:
--   verify               read the payment, which was unreachable when the refund was created
--   send                 surely not at the processor: submit it
--   look_up              perhaps at the processor: look before anything else
--   settle               at the processor: read whether it has settled
--   cancel_at_processor  at the processor, and to be cancelled
--   cancel               surely not at the processor, and to be cancelled
--   review               ended here: read whether the processor agrees
CREATE OR REPLACE FUNCTION claim_refunds(items jsonb, lease_ms int)
RETURNS TABLE (refund_id text, claim jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  lease_end timestamptz := moment + lease_ms * interval '1 millisecond';
  wanted record;
  work refund_work;
  claimed refund;
  last_attempt refund_attempt;
  account record;
  step text;
  is_verified boolean;
BEGIN
  FOR wanted IN SELECT * FROM jsonb_to_recordset(items) AS i(refund_id text, event_id text) ORDER BY refund_id LOOP
    SELECT * INTO work FROM refund_work AS w
    WHERE w.refund_id = wanted.refund_id AND w.due_at <= moment AND (w.leased_until IS NULL OR w.leased_until <= moment)
    FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    SELECT * INTO claimed FROM refund AS r WHERE r.id = work.refund_id;
    SELECT a.id, a.organization_id, a.environment, a.processor, a.updated_at, a.misconfigured_at, a.throttled_until
    INTO account FROM processor_account AS a
    WHERE a.organization_id = work.organization_id AND a.environment = work.environment AND a.processor = work.processor;
    SELECT p.amount IS NOT NULL INTO is_verified FROM payment AS p
    WHERE p.organization_id = claimed.organization_id AND p.environment = claimed.environment
      AND p.processor = claimed.processor AND p.transaction_id = claimed.transaction_id;
    SELECT * INTO last_attempt FROM refund_attempt AS a WHERE a.refund_id = work.refund_id ORDER BY a.number DESC LIMIT 1;

    step := next_refund_step(claimed, work, is_verified);
    IF step <> 'cancel' AND account.throttled_until > moment THEN
      -- Refunds that wait for the same moment come back over half a second.
      UPDATE refund_work AS w
      SET due_at = account.throttled_until + random() * interval '500 milliseconds', enqueued_at = NULL
      WHERE w.refund_id = work.refund_id;
      CONTINUE;
    END IF;
    IF step = 'send' THEN
      INSERT INTO refund_attempt (refund_id, number, key_version, started_at)
      VALUES (work.refund_id, coalesce(last_attempt.number, 0) + 1,
        coalesce(last_attempt.key_version + last_attempt.key_spent::int, 1), moment)
      RETURNING * INTO last_attempt;
      PERFORM append_refund_event(wanted.event_id, claimed, NULL, 'attempt.started', 'worker',
        jsonb_build_object('attempt', last_attempt.number), moment);
    END IF;
    UPDATE refund_work AS w SET
      leased_until = lease_end,
      lease_token = nextval('lease_token'),
      enqueued_at = NULL,
      resync_requested_at = NULL,
      resync_news = NULL,
      unknown_since = CASE
        WHEN step = 'send' THEN moment
        WHEN step = 'look_up' AND work.resync_requested_at IS NOT NULL THEN moment
        ELSE w.unknown_since END
    WHERE w.refund_id = work.refund_id
    RETURNING * INTO work;
    refund_id := work.refund_id;
    claim := jsonb_build_object('step', step, 'now', moment, 'refund', to_jsonb(claimed), 'work', to_jsonb(work),
      'attempt', to_jsonb(last_attempt), 'account', to_jsonb(account));
    RETURN NEXT;
  END LOOP;
END
$$;
