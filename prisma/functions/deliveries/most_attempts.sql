-- How many attempts for one endpoint may be under way at once, in all workers. The 32 endpoints that an organization may have take
-- 320 of the 500 places of a worker, so slow ones of one organization leave room for the others. Few while it fails, because each
-- attempt may last until the timeout.
CREATE OR REPLACE FUNCTION most_attempts(failing_since timestamptz) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN failing_since IS NULL THEN 10 ELSE 5 END
$$;
