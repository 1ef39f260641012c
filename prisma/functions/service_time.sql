-- The clock of every statement here: the database's, to the millisecond that the columns keep. Processes on machines whose
-- clocks differ agree on what is due and who holds a lease; tests replace the function to hold the time.
CREATE OR REPLACE FUNCTION service_time() RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
  SELECT date_trunc('milliseconds', clock_timestamp())
$$;
