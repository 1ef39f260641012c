-- Whether refunds are postponed to the end of a pause. After a short one they keep their places among what is due, and no row is written.
CREATE OR REPLACE FUNCTION is_long_pause(paused_until timestamptz, moment timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT paused_until > moment + interval '2 seconds'
$$;
