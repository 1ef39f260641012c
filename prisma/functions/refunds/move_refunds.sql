-- Moves refunds from one status to another, or adds entries that leave the status: one guarded UPDATE and the timeline entries. The only
-- place that writes a refund's status. Triggers of the table refuse a move that the state table does not have, and release the
-- reservation of a refund that fails or is cancelled (keep_reserved.sql).
--
-- It locks what it changes, so that one session at a time writes to a timeline, and its numbers have no gaps and no repeats. A caller
-- that changes more of a refund in the same transaction does so afterwards, or takes the locks of lock_moves.sql in their order before.
--
-- moves: a JSON array of objects; other columns are ignored:
--   refund_id  the refund to move
--   expected   the refund's status before
--   entries    [{event_id, type, to, detail}], in order, of which the public ones enter the event feed; to is the status
--              from then on. Without entries, nothing is done
--   change     columns by name; those left out stay. Empty metadata is none. Without a change and a new status the row is not written
--
-- Returns the refunds as they are now. Those that were not in the expected status are unchanged and left out.
CREATE OR REPLACE FUNCTION move_refunds(moves jsonb, mover text, moment timestamptz) RETURNS SETOF refund
LANGUAGE plpgsql
AS $$
BEGIN
  PERFORM lock_moves(moves);
  PERFORM announce_events();
  RETURN QUERY WITH asked AS MATERIALIZED (
    SELECT m.*, last.target, last.target <> m.expected OR m.change <> '{}' AS is_change
    FROM jsonb_to_recordset(moves) AS m(refund_id text, expected refund_status, entries jsonb, change jsonb)
    CROSS JOIN LATERAL (SELECT (m.entries->-1->>'to')::refund_status AS target) AS last
    WHERE m.entries <> '[]'
  ), changed AS (
    UPDATE refund AS r SET
      status = target,
      updated_at = moment,
      external_refund_id = coalesce(change->>'external_refund_id', external_refund_id),
      accepted_at = CASE WHEN change ? 'external_refund_id' THEN coalesce(accepted_at, moment) ELSE accepted_at END,
      completed_at = CASE WHEN target = 'completed' AND expected <> 'completed' THEN moment ELSE completed_at END,
      processor_status = coalesce(change->>'processor_status', processor_status),
      failure_code = coalesce(change->>'failure_code', failure_code),
      failure_message = coalesce(change->>'failure_message', failure_message),
      arrival = coalesce(change->'arrival', arrival),
      -- A hold begins with the approval. While the refund awaits it, the hold is counted from the creation.
      held_until = CASE WHEN expected = 'pending' AND target = 'processing' THEN moment + (held_until - created_at) ELSE held_until END,
      metadata = CASE WHEN change ? 'metadata' THEN nullif(change->'metadata', '{}') ELSE metadata END,
      cancel_key = coalesce(cancel_key, change->>'cancel_key')
    FROM asked WHERE r.id = asked.refund_id AND r.status = expected AND is_change
    RETURNING r.*
  ), moved AS MATERIALIZED (
    SELECT * FROM changed
    UNION ALL
    SELECT r.* FROM asked JOIN refund AS r ON r.id = asked.refund_id AND r.status = expected WHERE NOT is_change
  ), added AS (
    INSERT INTO refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at,
      organization_id, environment, position, external_refund_id, failure_code, failure_message)
    SELECT entry.event_id, entry.refund_id, entry.seq, entry.type, mover, entry.previous_status, entry.status,
      coalesce(entry.detail, '{}'), moment, shown.organization_id, shown.environment,
      CASE WHEN shown.id IS NOT NULL THEN nextval('refund_event_position') END, shown.external_refund_id,
      CASE WHEN entry.type = 'refund.failed' THEN shown.failure_code END,
      CASE WHEN entry.type = 'refund.failed' THEN shown.failure_message END
    FROM (
      SELECT moved AS refund, moved.id AS refund_id, e.event_id, earlier.seq + e.place AS seq, e.type, e."to" AS status, e.detail,
        nullif(lag(e."to", 1, expected) OVER (PARTITION BY moved.id ORDER BY e.place), e."to") AS previous_status
      FROM moved JOIN asked ON asked.refund_id = moved.id
      CROSS JOIN LATERAL (SELECT coalesce(max(seq), 0) AS seq FROM refund_event WHERE refund_id = moved.id) AS earlier
      CROSS JOIN LATERAL ROWS FROM (
        jsonb_to_recordset(entries) AS (event_id text, type text, "to" refund_status, detail jsonb)
      ) WITH ORDINALITY AS e(event_id, type, "to", detail, place)
      -- Positions are drawn in this order.
      ORDER BY moved.id, e.place
    ) AS entry
    LEFT JOIN LATERAL (SELECT (entry.refund).* WHERE is_public_event(entry.type)) AS shown ON true
  )
  SELECT * FROM moved;
END
$$;
