-- False while refunds must not be sent, because the database may be older than what their processors know.
--
-- reached: a JSON array of {generation, position}: positions in the event feed that workers have seen in this database. A database
-- of the same generation that is behind one of them was restored from a backup, or lost what it had committed: a recovery is
-- required from then on. Committed positions alone are compared, because the sequence may fall back when PostgreSQL is killed.
CREATE OR REPLACE FUNCTION may_advance(reached jsonb, moment timestamptz) RETURNS boolean
LANGUAGE plpgsql
-- Keep one plan, however full the tables were when it was made.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off
AS $$
DECLARE
  current recovery;
BEGIN
  SELECT * INTO current FROM recovery WHERE id = 1;
  IF current.required_since IS NULL AND EXISTS (
    SELECT FROM jsonb_to_recordset(reached) AS seen(generation text, position bigint)
    WHERE seen.generation = current.generation AND seen.position > feed_position()) THEN
    PERFORM require_recovery(moment);
    RETURN false;
  END IF;
  RETURN current.required_since IS NULL;
END
$$;
