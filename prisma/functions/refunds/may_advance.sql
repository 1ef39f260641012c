-- False while refunds must not be sent, because the database may be older than what their processors know.
--
-- reached: a JSON array of {generation, event_id}: events that workers have seen in this database. Events are never deleted, so a
-- database of the same generation without one of them was restored from a backup, or lost what it had committed, and so was one of an
-- earlier generation: a recovery is required from then on. Other installations do not count.
CREATE OR REPLACE FUNCTION may_advance(reached jsonb, moment timestamptz) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
  current recovery;
BEGIN
  SELECT * INTO current FROM recovery WHERE id = 1;
  IF current.required_since IS NULL AND EXISTS (
    SELECT FROM jsonb_to_recordset(reached) AS seen(generation text, event_id text)
    WHERE split_part(seen.generation, '/', 1) = split_part(current.generation, '/', 1)
      AND (seen.generation > current.generation COLLATE "C" OR seen.generation = current.generation
        AND NOT EXISTS (SELECT FROM refund_event AS e WHERE e.id = seen.event_id AND e.position IS NOT NULL))) THEN
    PERFORM require_recovery(moment);
    RETURN false;
  END IF;
  RETURN current.required_since IS NULL;
END
$$;
