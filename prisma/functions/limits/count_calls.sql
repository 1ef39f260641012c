-- Counts calls to an account that allowed_calls.sql has allowed.
CREATE OR REPLACE FUNCTION count_calls(
  owner_id text, owner_environment environment, named_processor text, per_second jsonb, moment timestamptz, calls int)
RETURNS void
LANGUAGE sql AS $$
  INSERT INTO account_calls AS c (organization_id, environment, processor, spent_until)
  SELECT owner_id, owner_environment, named_processor, moment + calls / rate * interval '1 second'
  FROM (SELECT (per_second ->> owner_environment::text)::float8 AS rate) AS limits WHERE rate > 0
  ON CONFLICT (organization_id, environment, processor)
  DO UPDATE SET spent_until = excluded.spent_until
    + CASE WHEN c.spent_until BETWEEN moment AND moment + interval '1 minute' THEN c.spent_until - moment ELSE interval '0' END
$$;
