-- Takes calls of an operation, up to a number, and returns how many it may get now. Claims that run at the same time count one after the
-- other, so that together they take no more than the rate allows.
CREATE OR REPLACE FUNCTION take_calls(called_account text, called text, rate float8, most int, moment timestamptz) RETURNS int
LANGUAGE sql AS $$
  INSERT INTO operation_calls AS c (account_id, operation, spent_until, granted)
  SELECT called_account, called, moment + free / rate * interval '1 second', free
  FROM (SELECT least(most, free_calls(NULL, rate, moment)) AS free) AS first
  ON CONFLICT (account_id, operation) DO UPDATE SET
    granted = least(most, free_calls(c.spent_until, rate, moment)),
    spent_until = CASE WHEN c.spent_until BETWEEN moment AND moment + interval '1 minute' THEN c.spent_until ELSE moment END
      + least(most, free_calls(c.spent_until, rate, moment)) / rate * interval '1 second'
  RETURNING granted
$$;
