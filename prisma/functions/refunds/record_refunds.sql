-- Records the results of steps on refunds that workers hold: the transition with its timeline entries, the end of the attempt,
-- and when the refund is due next, all or nothing. A result that arrives after the lease was lost is not
-- recorded; the refund is read again instead, unless the step only read its payment. An item never waits for another session: when a row it needs is locked, the
-- outcome is 'locked' and the caller repeats.
--
-- items: a JSON array of objects:
--   refund_id, lease_token   the claim
--   expected, entries, change    as move_refunds takes them; one that is_proof ends the unknown outcome
--   ends_attempt           true when the timeline entries say how the attempt ended
--   is_key_spent           true when the next attempt uses a new key
--   due_in_ms              null when nothing is left to do for a worker
--   waiting_for            what the refund waits for until then; null when it moves on
--   waiting_until          when that expires, where the processor says so
--   retrying               true starts the time to the retry deadline unless it is running, false clears it, null keeps it
--   consecutive_failures   null keeps the number
--   is_refused             true when an entry attempt.misconfigured is proof that no attempt was applied
--   awaits_approval        true when the processor keeps the attempt for a reviewer: no other one follows until there is proof
--   server_error           true when the processor answered with a server error: after_server_error.sql says what may follow
--   knows_cancel           true when the claim was made with a requested cancellation
--   ends_cancel            true when the requested cancellation is over
--   flag                   {reason, facts} flags the refund, {} ends its flag, null keeps it
--   unless_resync          true to record nothing when a resync has been requested
--   reads_payment          true for a step that cannot have changed or seen the refund at the processor
--
-- outcome, one row per item: 'recorded', 'due' (recorded, and the next step is due at once), 'lost', 'resync' (only with
-- unless_resync) or 'locked'.
CREATE OR REPLACE FUNCTION record_refunds(items jsonb)
RETURNS TABLE (item int, outcome text)
LANGUAGE plpgsql
-- Keep one plan: the planner would plan again for each number of refunds.
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  paid text[];
  held text[];
  result record;
  recorded jsonb[] := '{}';
  recorded_items int[] := '{}';
  kept jsonb;
  moved text[];
BEGIN
  -- Payments before work: every statement locks in this order.
  SELECT array_agg(locked.refund_id) INTO paid FROM (
    SELECT r.id AS refund_id FROM jsonb_to_recordset(items) AS i(refund_id text, entries jsonb)
    JOIN refund AS r ON r.id = i.refund_id
    -- A row that was just joined to another one is gone and counts as locked: the next call finds the other one.
    JOIN payment AS p ON p.id = r.payment_id
    WHERE i.entries->-1->>'to' IN ('failed', 'cancelled')
    ORDER BY p.id FOR UPDATE OF p SKIP LOCKED
  ) AS locked;
  SELECT array_agg(locked.refund_id) INTO held FROM (
    SELECT w.refund_id FROM jsonb_to_recordset(items) AS i(refund_id text)
    -- An equality with an array, because a plain one could be the order of a join, for which a whole index of due work would be read.
    JOIN refund_work AS w ON w.refund_id = ANY (ARRAY[i.refund_id])
    ORDER BY i.refund_id FOR UPDATE OF w SKIP LOCKED
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
    LEFT JOIN refund_work AS w ON w.refund_id = ANY (ARRAY[i.refund_id])
    ORDER BY i.refund_id
  LOOP
    CASE result.outcome
      WHEN 'recorded' THEN
        recorded := recorded || result.value;
        recorded_items := recorded_items || result.item;
        CONTINUE;
      WHEN 'lost' THEN
        -- A result without entries only says when the refund is due next.
        IF result.entries <> '[]' AND (result.value->'reads_payment')::boolean IS NOT TRUE THEN
          PERFORM request_resync(result.refund_id);
        END IF;
      WHEN 'resync' THEN
        PERFORM continue_refund_works(jsonb_build_array(jsonb_build_object('refund_id', result.refund_id)), moment);
      ELSE NULL;
    END CASE;
    item := result.item;
    outcome := result.outcome;
    RETURN NEXT;
  END LOOP;

  moved := ARRAY (SELECT id FROM move_refunds(to_jsonb(recorded), 'worker', moment));
  FOREACH kept IN ARRAY recorded LOOP
    IF kept->'entries' <> '[]' AND NOT kept->>'refund_id' = ANY (moved) THEN
      RAISE EXCEPTION 'Refund % was moved by another session than the one that holds its work', kept->>'refund_id';
    END IF;
  END LOOP;
  PERFORM continue_refund_works(to_jsonb(recorded), moment);
  -- A cancellation or a resync that was requested during the lease makes it due at once, whatever the result says.
  RETURN QUERY SELECT i.item, CASE WHEN w.due_at <= moment THEN 'due' ELSE 'recorded' END
  FROM unnest(recorded_items) AS i(item)
  LEFT JOIN refund_work AS w ON w.refund_id = ANY (ARRAY[items->i.item->>'refund_id']);
END
$$;
