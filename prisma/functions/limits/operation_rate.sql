-- The calls per second that an operation gets at this moment; NULL with a `most` of 0, which is no limit.
--
-- limited: its entry in processor_account.rate_limits, or NULL. An operation that was slowed grows back from its part of `most`, slowedTo,
-- within a minute. What was noted before the clock of the database was set back is ignored.
CREATE OR REPLACE FUNCTION operation_rate(most float8, limited jsonb, moment timestamptz) RETURNS float8
LANGUAGE sql STABLE AS $$
  SELECT nullif(most, 0) * CASE
    WHEN moment BETWEEN (limited->>'slowedAt')::timestamptz AND (limited->>'slowedAt')::timestamptz + interval '1 minute'
    THEN (limited->>'slowedTo')::float8
      + (1 - (limited->>'slowedTo')::float8) * extract(epoch FROM moment - (limited->>'slowedAt')::timestamptz)::float8 / 60
    ELSE 1 END
$$;
