-- How many calls an account may get at this moment, over all workers, at least 0. `per_second` holds the rate of each environment,
-- {"live": 80, "test": 20}; with 0 there is no limit.
--
-- Calls may come together that are a quarter of a second's, and one always may. Claims that run at the same time are allowed the same
-- calls: they may only be for the refunds that are due longest, of which each is claimed once. count_calls.sql counts them. A
-- limit that is spent for more than a minute was counted before the clock of the database was set back, and is ignored.
CREATE OR REPLACE FUNCTION allowed_calls(
  owner_id text, owner_environment environment, named_processor text, per_second jsonb, moment timestamptz)
RETURNS int
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN rate = 0 THEN 2147483647 ELSE
    greatest(0, floor(greatest(0.25 * rate, 1) - extract(epoch FROM greatest(spent_until, moment) - moment) * rate))::int END
  FROM (SELECT (per_second ->> owner_environment::text)::float8 AS rate) AS named
  LEFT JOIN account_calls ON organization_id = owner_id AND environment = owner_environment AND processor = named_processor
    AND spent_until < moment + interval '1 minute'
$$;
