-- Records the results of steps on refunds that workers hold: the end of the attempt, the transition with its timeline
-- entries, and when the refund is due next, all or nothing. A result that arrives after the lease was lost is not
-- recorded; the refund is read again instead. An item never waits for another session: when a row it needs is locked, the
-- outcome is 'locked' and the caller repeats.
--
-- items: a JSON array of objects:
--   refund_id, lease_token   the claim
--   expected, entries, change    as move_refunds takes them
--   attempt_outcome, key_spent   how the attempt ended; null while it has not
--   due_in_ms              null when nothing is left to do for a worker
--   retrying               true starts the time to the retry deadline unless it is running, false clears it, null keeps it
--   consecutive_failures   null keeps the number
--   is_known               true once it is known whether the processor has the refund
--   ends_cancel            true when the requested cancellation is over
--   flag                   {reason, facts} flags the refund, {} ends its flag, null keeps it
--   unless_resync          true to record nothing when a resync has been requested
--
-- outcome, one row per item: 'recorded', 'lost', 'resync' (only with unless_resync) or 'locked'.
CREATE OR REPLACE FUNCTION record_refunds(items jsonb)
RETURNS TABLE (item int, outcome text)
LANGUAGE plpgsql
-- Keep one plan that reads by key, in the order of the joins as written: one made while the tables were small would scan them.
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  paid text[];
  held text[];
  result record;
  recorded jsonb[] := '{}';
  kept jsonb;
  moved text[];
BEGIN
  -- Payments before work: every statement locks in this order.
  SELECT array_agg(locked.refund_id) INTO paid FROM (
    SELECT r.id AS refund_id FROM jsonb_to_recordset(items) AS i(refund_id text, entries jsonb)
    JOIN refund AS r ON r.id = i.refund_id
    JOIN payment AS p ON p.organization_id = r.organization_id AND p.environment = r.environment
      AND p.processor = r.processor AND p.transaction_id = r.payment_id
    -- A row that just became an alias counts as locked: the next call finds the row that holds the payment.
    WHERE i.entries->-1->>'to' IN ('failed', 'cancelled') AND p.alias_of IS NULL
    ORDER BY p.organization_id, p.environment, p.processor, p.transaction_id FOR UPDATE OF p SKIP LOCKED
  ) AS locked;
  SELECT array_agg(locked.refund_id) INTO held FROM (
    SELECT w.refund_id FROM jsonb_to_recordset(items) AS i(refund_id text)
    JOIN refund_work AS w ON w.refund_id = i.refund_id
    ORDER BY w.refund_id FOR UPDATE OF w SKIP LOCKED
  ) AS locked;

  FOR result IN
    SELECT each.ordinality::int - 1 AS item, each.value, i.refund_id, i.entries, CASE
      WHEN i.entries->-1->>'to' IN ('failed', 'cancelled') AND NOT i.refund_id = ANY (coalesce(paid, '{}')) THEN 'locked'
      WHEN w.refund_id IS NOT NULL AND NOT i.refund_id = ANY (coalesce(held, '{}')) THEN 'locked'
      WHEN w.lease_token IS DISTINCT FROM i.lease_token THEN 'lost'
      WHEN i.unless_resync AND w.resync_requested_at IS NOT NULL THEN 'resync'
      ELSE 'recorded' END AS outcome
    FROM jsonb_array_elements(items) WITH ORDINALITY AS each(value, ordinality)
    CROSS JOIN LATERAL jsonb_to_record(each.value) AS i(
      refund_id text, lease_token bigint, entries jsonb, unless_resync boolean)
    LEFT JOIN refund_work AS w ON w.refund_id = i.refund_id
    ORDER BY i.refund_id
  LOOP
    CASE result.outcome
      WHEN 'recorded' THEN
        recorded := recorded || result.value;
      WHEN 'lost' THEN
        -- A result without entries only says when the refund is due next.
        IF result.entries <> '[]' THEN
          PERFORM request_resync(result.refund_id);
        END IF;
      WHEN 'resync' THEN
        UPDATE refund_work AS w SET leased_until = NULL, due_at = moment WHERE w.refund_id = result.refund_id;
      ELSE NULL;
    END CASE;
    item := result.item;
    outcome := result.outcome;
    RETURN NEXT;
  END LOOP;

  UPDATE refund_attempt AS a
  SET ended_at = moment, outcome = i.attempt_outcome, key_spent = coalesce(i.key_spent, false)
  FROM jsonb_to_recordset(to_jsonb(recorded)) AS i(refund_id text, attempt_outcome attempt_outcome, key_spent boolean)
  WHERE i.attempt_outcome IS NOT NULL AND a.refund_id = i.refund_id AND a.ended_at IS NULL
    AND a.number = (SELECT max(last.number) FROM refund_attempt AS last WHERE last.refund_id = i.refund_id);
  moved := ARRAY (SELECT id FROM move_refunds(to_jsonb(recorded), 'worker', moment));
  FOREACH kept IN ARRAY recorded LOOP
    IF kept->'entries' <> '[]' AND NOT kept->>'refund_id' = ANY (moved) THEN
      RAISE EXCEPTION 'Refund % was moved by another session than the one that holds its work', kept->>'refund_id';
    END IF;
  END LOOP;
  PERFORM continue_refund_works(to_jsonb(recorded), moment);
END
$$;
