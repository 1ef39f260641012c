-- The time of every statement here: the database's clock, truncated to milliseconds like the columns. Processes on machines whose
-- clocks differ agree on what is due and who holds a lease. Tests replace the function to freeze time.
CREATE OR REPLACE FUNCTION service_time() RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
  SELECT date_trunc('milliseconds', clock_timestamp())
$$;
