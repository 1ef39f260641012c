-- How many calls an operation may get at this moment, at least 0. Calls may come together that are a fifth of a second's, and one always may.
--
-- spent_until: of operation_calls, or NULL. A time that is more than a minute away was counted before the clock of the database was set
-- back, and is ignored.
CREATE OR REPLACE FUNCTION free_calls(spent_until timestamptz, rate float8, moment timestamptz) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(0, floor(greatest(0.2 * rate, 1) - CASE WHEN spent_until BETWEEN moment AND moment + interval '1 minute'
    THEN extract(epoch FROM spent_until - moment)::float8 * rate ELSE 0 END))::int
$$;
