-- Takes the leases of due refunds, for one call to their processor each, and returns everything that their next steps need: for each a
-- JSON object of step, now, refund, payment (its own id at the processor; null until it was read), work, account, afterServerError (as
-- after_server_error.sql says).
--
-- Only for claim_refunds.sql and claim_due_refunds.sql: in an earlier statement they have locked the refund_work rows of `held`, and
-- grant_calls.sql has granted their calls. `moment` is the time of the claim.
--
-- A claim to send counts the attempt and marks its outcome as unknown before the caller makes the call, so that a worker may
-- die at any point. The record of its outcome adds it to the timeline. A claim also takes over a requested resync: the next step
-- reads the refund. If the refund is not known to be at the processor, its outcome is unknown from then on, until a lookup
-- settles it.
--
-- The first attempt decides which metadata all attempts send, because a processor refuses a repeated idempotency key with another request.
--
-- step, decided from the stored rows alone:
--   verify               the payment is not known yet, or in another currency: read it
--   send                 not at the processor: submit the refund
--   look_up              may be at the processor: look it up first
--   settle               at the processor: read whether it has settled
--   cancel_at_processor  at the processor, cancellation requested
--   cancel               not at the processor, cancellation requested
--   review               ended here: read whether the processor agrees
CREATE OR REPLACE FUNCTION lease_refunds(held text[], moment timestamptz, lease_ms int)
RETURNS TABLE (refund_id text, claim json)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY WITH taken AS MATERIALIZED (
    SELECT h.refund_id, r, p.external_id, a.account, a.sent_metadata_keys,
      next_refund_step(r, work.w, (SELECT s FROM recovery AS s WHERE s.id = 1), p.currency = r.currency, moment) AS step
    FROM unnest(held) AS h(refund_id)
    -- OFFSET 0, as an equality with an array does below, keeps the order of a join from reading a whole index of due work.
    CROSS JOIN LATERAL (SELECT w FROM refund_work AS w WHERE w.refund_id = h.refund_id OFFSET 0) AS work
    JOIN refund AS r ON r.id = h.refund_id
    JOIN payment AS p ON p.id = r.payment_id
    JOIN LATERAL (
      SELECT to_json(named) AS account, named.sent_metadata_keys FROM (
        SELECT a.id, a.organization_id, a.environment, a.processor, a.name, a.is_default, a.parent_id, a.connected_account, a.used_at,
          a.updated_at, a.abilities, a.worked_at, a.misconfigured_at, a.calls_per_second, a.rate_limits, a.sent_metadata_keys, a.transfers, a.application_fees
        FROM processor_account AS a WHERE a.id = r.account_id
      ) AS named
    ) AS a ON true
  ), leased AS (
    UPDATE refund_work AS w SET
      leased_until = moment + lease_ms * interval '1 millisecond',
      lease_token = nextval('lease_token'),
      resync_requested_at = NULL,
      attempt_number = w.attempt_number + (step = 'send')::int,
      attempt_started_at = CASE WHEN step = 'send' THEN moment ELSE w.attempt_started_at END,
      idempotency_key_version = w.idempotency_key_version + (step = 'send' AND w.is_key_spent)::int,
      key_used_at = CASE WHEN step = 'send' AND (w.attempt_number = 0 OR w.is_key_spent) THEN moment ELSE w.key_used_at END,
      is_key_spent = step <> 'send' AND w.is_key_spent,
      sent_metadata = CASE WHEN step = 'send' AND w.attempt_number = 0 THEN (
        SELECT jsonb_object_agg(chosen.key, value.as_text)
        FROM unnest(taken.sent_metadata_keys) AS chosen(key)
        CROSS JOIN LATERAL (SELECT (taken.r).metadata->>chosen.key AS as_text) AS value
        WHERE jsonb_typeof((taken.r).metadata->chosen.key) IN ('string', 'number', 'boolean')
          AND length(value.as_text) BETWEEN 1 AND 500
      ) ELSE w.sent_metadata END,
      unknown_since = CASE
        WHEN step = 'send' THEN moment
        WHEN step = 'look_up' AND w.resync_requested_at IS NOT NULL THEN moment
        ELSE w.unknown_since END
    FROM taken WHERE w.refund_id = ANY (ARRAY[taken.refund_id])
    RETURNING w
  )
  SELECT taken.refund_id,
    json_build_object('step', step, 'now', moment, 'refund', r, 'payment', external_id, 'work', leased.w, 'account', account,
      'afterServerError', after_server_error(leased.w, moment))
  FROM taken JOIN leased ON (leased.w).refund_id = taken.refund_id;
END
$$;
