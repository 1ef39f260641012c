-- Notes on an account that its processor has refused a call for coming too soon (429): the operation pauses for pause_ms, and its rate is
-- reduced to three quarters, and to a twentieth of the whole at least. operation_rate.sql says how it grows back. Answers within a second
-- count as one: calls that were under way together are refused together.
--
-- Returns what is known of all operations then.
CREATE OR REPLACE FUNCTION note_rate_limit(limited_account text, limited text, pause_ms float8) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
  known jsonb;
BEGIN
  SELECT a.rate_limits->limited INTO known FROM processor_account AS a WHERE a.id = limited_account FOR UPDATE;
  IF (moment BETWEEN (known->>'slowedAt')::timestamptz AND (known->>'slowedAt')::timestamptz + interval '1 second') IS NOT TRUE THEN
    known := coalesce(known, '{}')
      || jsonb_build_object('slowedAt', moment, 'slowedTo', greatest(operation_rate(1, known, moment) * 0.75, 0.05));
  END IF;
  known := known || jsonb_build_object(
    'pausedUntil', greatest((known->>'pausedUntil')::timestamptz, moment + pause_ms * interval '1 millisecond'));
  UPDATE processor_account AS a SET rate_limits = a.rate_limits || jsonb_build_object(limited, known)
  WHERE a.id = limited_account RETURNING a.rate_limits INTO known;
  RETURN known;
END
$$;
