-- How many attempts for one endpoint may be under way at once, in all workers. Few while it fails, because each may last until
-- the timeout: dead endpoints together must not take up the workers.
CREATE OR REPLACE FUNCTION most_attempts(failing_since timestamptz) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN failing_since IS NULL THEN 20 ELSE 5 END
$$;
