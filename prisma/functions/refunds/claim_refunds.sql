-- Claims due refunds for one call to their processor each: takes the lease and returns everything that the next step needs.
-- Leaves out a refund that is not due, that another worker holds, or whose account is throttled.
--
-- A claim to send records the attempt and its unknown outcome before the caller makes the call, so that a worker may die at
-- any point. A claim also takes over a requested resync: the next step reads the refund. If the refund is not known to be at
-- the processor, its outcome is unknown from then on, until a lookup settles it.
--
-- items: a JSON array of {refund_id, event_id}. lease_ms: longer than any call to a processor can last.
--
-- step, decided from the stored rows alone:
--   verify               the payment is not known yet: read it
--   send                 not at the processor: submit the refund
--   look_up              may be at the processor: look it up first
--   settle               at the processor: read whether it has settled
--   cancel_at_processor  at the processor, cancellation requested
--   cancel               not at the processor, cancellation requested
--   review               ended here: read whether the processor agrees
CREATE OR REPLACE FUNCTION claim_refunds(items jsonb, lease_ms int)
RETURNS TABLE (refund_id text, claim json)
LANGUAGE plpgsql
-- Keep one plan that reads by key, in the order of the joins as written: one made while the tables were small would scan them.
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  held text[];
BEGIN
  -- One row at a time by its primary key: joined, it was found among all due rows once they were few.
  SELECT array_agg(locked.refund_id) INTO held
  FROM (SELECT DISTINCT i.refund_id FROM jsonb_to_recordset(items) AS i(refund_id text) ORDER BY 1) AS asked
  CROSS JOIN LATERAL (
    SELECT w.refund_id, w.due_at, w.leased_until FROM refund_work AS w WHERE w.refund_id = asked.refund_id
      AND w.due_at <= moment AND (w.leased_until IS NULL OR w.leased_until <= moment)
    FOR UPDATE SKIP LOCKED
  ) AS locked;

  -- A separate statement, because it must see what was committed before the rows were locked.
  RETURN QUERY WITH known AS MATERIALIZED (
    SELECT w.refund_id, r, last_attempt, a.account, a.throttled_until, i.event_id,
      next_refund_step(r, w, p.amount IS NOT NULL) AS step
    FROM unnest(held) AS h(refund_id)
    JOIN refund_work AS w ON w.refund_id = h.refund_id
    JOIN refund AS r ON r.id = h.refund_id
    JOIN payment AS p ON (p.organization_id, p.environment, p.processor, p.transaction_id)
      = (r.organization_id, r.environment, r.processor, r.payment_id)
    JOIN LATERAL (
      SELECT to_json(named) AS account, named.throttled_until FROM (
        SELECT a.id, a.organization_id, a.environment, a.processor, a.updated_at, a.misconfigured_at, a.throttled_until
        FROM processor_account AS a
        WHERE a.organization_id = w.organization_id AND a.environment = w.environment AND a.processor = w.processor
      ) AS named
    ) AS a ON true
    JOIN (
      SELECT i.refund_id, min(i.event_id) AS event_id FROM jsonb_to_recordset(items) AS i(refund_id text, event_id text)
      GROUP BY i.refund_id
    ) AS i ON i.refund_id = h.refund_id
    LEFT JOIN LATERAL (
      SELECT * FROM refund_attempt AS each WHERE each.refund_id = h.refund_id ORDER BY each.number DESC LIMIT 1
    ) AS last_attempt ON true
  ), postponed AS (
    -- Spread over half a second, because all of them wait for the same moment.
    UPDATE refund_work AS w
    SET due_at = known.throttled_until + random() * interval '500 milliseconds', enqueued_at = NULL
    FROM known WHERE w.refund_id = known.refund_id AND known.step <> 'cancel' AND known.throttled_until > moment
  ), taken AS MATERIALIZED (
    SELECT * FROM known WHERE known.step = 'cancel' OR known.throttled_until IS NULL OR known.throttled_until <= moment
  ), attempted AS (
    INSERT INTO refund_attempt (refund_id, number, idempotency_key_version, started_at)
    SELECT refund_id, coalesce((last_attempt).number, 0) + 1,
      coalesce((last_attempt).idempotency_key_version + (last_attempt).key_spent::int, 1), moment
    FROM taken WHERE step = 'send'
    RETURNING *
  ), entry AS (
    INSERT INTO refund_event (id, refund_id, seq, type, actor, status, detail, created_at)
    SELECT taken.event_id, refund_id,
      1 + (SELECT coalesce(max(e.seq), 0) FROM refund_event AS e WHERE e.refund_id = taken.refund_id),
      'attempt.started', 'worker', (taken.r).status, jsonb_build_object('attempt', attempted.number), moment
    FROM attempted JOIN taken USING (refund_id)
  ), leased AS (
    UPDATE refund_work AS w SET
      leased_until = moment + lease_ms * interval '1 millisecond',
      lease_token = nextval('lease_token'),
      enqueued_at = NULL,
      resync_requested_at = NULL,
      reported_state = NULL,
      unknown_since = CASE
        WHEN step = 'send' THEN moment
        WHEN step = 'look_up' AND w.resync_requested_at IS NOT NULL THEN moment
        ELSE w.unknown_since END
    FROM taken WHERE w.refund_id = taken.refund_id
    RETURNING w
  )
  SELECT taken.refund_id, json_build_object('step', step, 'now', moment, 'refund', r, 'work', leased.w,
    'attempt', coalesce(to_json(attempted), to_json(last_attempt)), 'account', account)
  FROM taken
  JOIN leased ON (leased.w).refund_id = taken.refund_id
  LEFT JOIN attempted ON attempted.refund_id = taken.refund_id;
END
$$;
