-- Records what workers learnt about refunds that they hold: the end of the attempt, the transition with its entries in the
-- timeline, and when to look again, all of it or nothing. What arrives after the lease was lost is not believed any more,
-- and not forgotten either: the refund is read again. An item never waits for another session: when another
-- session holds what it needs, the outcome is 'locked' and the caller asks again.
--
-- items: a JSON array of objects with the columns named in the SELECT below.
--   moves             [{to, event_id, type, detail}], in order; empty when there is nothing to tell
--   change            columns of the refund, written with the last move
--   due_in_ms         when to look again; null when nothing is left to do for a worker
--   retrying          true keeps or begins the trouble that retry deadlines count from, false ends it, null leaves it
--   flag              {reason}: a person has to look at it; {} ends a flag; null leaves it
--   unless_resync     true to record nothing when a resync was requested meanwhile
--
-- outcome, one row per item: 'recorded', 'lost', 'news' (only with unless_resync) or 'locked'.
CREATE OR REPLACE FUNCTION record_refunds(items jsonb)
RETURNS TABLE (item int, outcome text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  finding record;
  work refund_work;
  moved refund;
  held refund;
  move record;
  last_move int;
BEGIN
  FOR finding IN
    SELECT each.ordinality::int - 1 AS item, f.*
    FROM jsonb_array_elements(items) WITH ORDINALITY AS each(value, ordinality)
    CROSS JOIN LATERAL jsonb_to_record(each.value) AS f(
      refund_id text, lease_token bigint, attempt_outcome attempt_outcome, key_spent boolean, moves jsonb, change jsonb,
      due_in_ms double precision, retrying boolean, consecutive_failures int, is_known boolean, ends_cancel boolean,
      flag jsonb, unless_resync boolean)
    ORDER BY f.refund_id
  LOOP
    item := finding.item;
    SELECT * INTO held FROM refund AS r WHERE r.id = finding.refund_id;
    IF finding.moves @? '$[*] ? (@.to == "failed" || @.to == "cancelled")' THEN
      -- The payment before the refund, in the order in which every statement locks.
      PERFORM FROM payment AS p
      WHERE p.organization_id = held.organization_id AND p.environment = held.environment
        AND p.processor = held.processor AND p.transaction_id = held.transaction_id
      FOR UPDATE SKIP LOCKED;
      IF NOT FOUND THEN
        outcome := 'locked'; RETURN NEXT; CONTINUE;
      END IF;
    END IF;
    SELECT * INTO work FROM refund_work AS w WHERE w.refund_id = finding.refund_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM refund_work AS w WHERE w.refund_id = finding.refund_id) THEN
      outcome := 'locked'; RETURN NEXT; CONTINUE;
    END IF;
    IF work.lease_token IS DISTINCT FROM finding.lease_token THEN
      -- Who only puts it off has learnt nothing.
      IF finding.moves <> '[]' THEN
        PERFORM request_resync(finding.refund_id);
      END IF;
      outcome := 'lost'; RETURN NEXT; CONTINUE;
    END IF;
    IF finding.unless_resync AND work.resync_requested_at IS NOT NULL THEN
      UPDATE refund_work AS w SET leased_until = NULL, due_at = moment WHERE w.refund_id = finding.refund_id;
      outcome := 'news'; RETURN NEXT; CONTINUE;
    END IF;

    -- The refund is read under its lock: the copy above may be older than the lease.
    SELECT * INTO moved FROM refund AS r WHERE r.id = finding.refund_id;
    IF finding.attempt_outcome IS NOT NULL THEN
      UPDATE refund_attempt AS a
      SET ended_at = moment, outcome = finding.attempt_outcome, key_spent = coalesce(finding.key_spent, false)
      WHERE a.refund_id = finding.refund_id AND a.ended_at IS NULL
        AND a.number = (SELECT max(last.number) FROM refund_attempt AS last WHERE last.refund_id = finding.refund_id);
    END IF;
    last_move := jsonb_array_length(finding.moves);
    FOR move IN
      SELECT m.* FROM ROWS FROM (jsonb_to_recordset(finding.moves)
        AS ("to" refund_status, event_id text, type text, detail jsonb)) WITH ORDINALITY AS m("to", event_id, type, detail, place)
      ORDER BY m.place
    LOOP
      moved := move_refund(finding.refund_id, moved.status, move."to",
        CASE WHEN move.place = last_move THEN finding.change END,
        move.event_id, move.type, 'worker', move.detail, moment);
    END LOOP;
    PERFORM continue_refund_work(work, moved, finding.due_in_ms, finding.retrying, finding.consecutive_failures,
      finding.is_known, finding.ends_cancel, finding.flag, moment);
    outcome := 'recorded';
    RETURN NEXT;
  END LOOP;
END
$$;
