-- Ends leases and sets when work is due next. Deletes work that is done: not due, not flagged and no resync requested. A flag
-- for an extra refund stays until a person resolves it. The caller has locked the refund_work rows.
--
-- items: a JSON array of objects with the columns named in the SELECT below; record_refunds.sql says what they mean.
CREATE OR REPLACE FUNCTION continue_refund_works(items jsonb, moment timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  stuck_id text;
BEGIN
  WITH next AS MATERIALIZED (
    SELECT i.*, keeps_flag, needs_resync, is_proven, r.status = 'processing' AND r.external_refund_id IS NULL AS is_unsent,
      CASE
        WHEN keeps_flag OR is_same_flag THEN w.flagged_at
        WHEN i.flag ? 'reason' THEN moment
      END AS flagged_at,
      greatest(CASE
        -- Due at once, also for a request to cancel that arrived during the lease. It keeps its place among what is due, because
        -- claim_due_refunds counts the leases of an account there.
        WHEN needs_resync OR i.due_in_ms = 0
          OR (r.status = 'processing' AND w.cancel_requested_at IS NOT NULL AND NOT i.knows_cancel) THEN LEAST(w.due_at, moment)
        ELSE moment + i.due_in_ms * interval '1 millisecond'
      END,
      -- A lookup, as after a restore, does not end a hold.
      CASE WHEN r.status = 'processing' AND r.external_refund_id IS NULL AND w.cancel_requested_at IS NULL AND NOT needs_resync
        THEN r.held_until END) AS due_at
    FROM jsonb_to_recordset(items) AS i(
      refund_id text, entries jsonb, due_in_ms double precision, waiting_for text, waiting_until timestamptz, retrying boolean, consecutive_failures int, is_refused boolean, awaits_approval boolean, server_error boolean,
      ends_attempt boolean, is_key_spent boolean, knows_cancel boolean, ends_cancel boolean, flag jsonb)
    -- An equality with an array, because a plain one could be the order of a join, for which a whole index of due work would be read.
    JOIN refund_work AS w ON w.refund_id = ANY (ARRAY[i.refund_id])
    JOIN refund AS r ON r.id = i.refund_id
    CROSS JOIN LATERAL (
      SELECT i.flag IS NULL OR w.flag_reason IS NOT DISTINCT FROM 'extra_refund' AS keeps_flag,
        w.flag_reason = i.flag->>'reason' AND w.flag_facts->>'externalRefundId'
          IS NOT DISTINCT FROM i.flag->'facts'->>'externalRefundId' AS is_same_flag,
        -- What was read in this lease may be older than the request.
        w.resync_requested_at IS NOT NULL AS needs_resync,
        EXISTS (
          SELECT FROM jsonb_to_recordset(i.entries) AS e(type text)
          WHERE (is_proof(e.type) OR i.is_refused AND e.type = 'attempt.misconfigured')
            -- A refusal of one attempt proves nothing of an earlier one with a server error, unless the processor kept it for their key.
            AND (w.server_error_at IS NULL OR i.is_key_spent OR e.type NOT IN ('attempt.unavailable', 'attempt.misconfigured'))
        ) AS is_proven
    ) AS judged
  ), ended AS (
    DELETE FROM refund_work AS w USING next
    WHERE w.refund_id = ANY (ARRAY[next.refund_id]) AND next.due_at IS NULL AND next.flagged_at IS NULL
  )
  UPDATE refund_work AS w SET
    due_at = next.due_at,
    leased_until = NULL,
    lease_token = NULL,
    resync_requested_at = CASE WHEN needs_resync THEN w.resync_requested_at END,
    attempt_started_at = CASE WHEN next.ends_attempt THEN NULL ELSE w.attempt_started_at END,
    is_key_spent = coalesce(next.is_key_spent, w.is_key_spent),
    sent_metadata = CASE WHEN next.is_unsent THEN w.sent_metadata END,
    unknown_since = CASE
      WHEN is_proven THEN NULL
      -- From now on, because what was sent may be applied until the attempt has ended.
      WHEN next.ends_attempt AND w.attempt_started_at IS NOT NULL THEN moment
      ELSE w.unknown_since END,
    approval_requested_at = CASE
      WHEN is_proven THEN NULL
      WHEN awaits_approval THEN coalesce(w.approval_requested_at, moment)
      ELSE w.approval_requested_at END,
    server_error_at = CASE
      WHEN server_error THEN moment
      -- A lookup proves nothing of it, but for a cancellation, a day later.
      WHEN NOT is_proven OR next.entries->0->>'type' = 'lookup.absent' AND NOT knows_cancel THEN w.server_error_at END,
    cancel_requested_at = CASE WHEN ends_cancel THEN NULL ELSE w.cancel_requested_at END,
    retrying_since = CASE WHEN retrying THEN coalesce(w.retrying_since, moment)
      WHEN NOT retrying THEN NULL ELSE w.retrying_since END,
    consecutive_failures = coalesce(next.consecutive_failures, w.consecutive_failures),
    waiting_for = next.waiting_for,
    waiting_since = CASE WHEN next.waiting_for = w.waiting_for THEN w.waiting_since WHEN next.waiting_for IS NOT NULL THEN moment END,
    waiting_until = next.waiting_until,
    flagged_at = next.flagged_at,
    flag_reason = CASE WHEN keeps_flag THEN w.flag_reason ELSE flag->>'reason' END,
    flag_facts = CASE WHEN keeps_flag THEN w.flag_facts ELSE coalesce(flag->'facts', '{}') END
  FROM next
  WHERE w.refund_id = ANY (ARRAY[next.refund_id]) AND (next.due_at IS NOT NULL OR next.flagged_at IS NOT NULL);

  SELECT r.id INTO stuck_id
  FROM jsonb_to_recordset(items) AS i(refund_id text)
  JOIN refund AS r ON r.id = i.refund_id AND r.status = 'processing'
  LEFT JOIN refund_work AS w ON w.refund_id = ANY (ARRAY[i.refund_id])
  WHERE w.due_at IS NULL;
  IF FOUND THEN
    RAISE EXCEPTION 'Refund % is processing and would never be due again', stuck_id;
  END IF;
END
$$;
