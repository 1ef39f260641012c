-- Locks what the moves of move_refunds change, in the order of every statement: payments, then work, then refunds without work. It waits
-- for other sessions, unless the caller holds the locks already.
--
-- The payment is locked for every change of the status but a completion, which leaves the reservation as it is.
CREATE OR REPLACE FUNCTION lock_moves(moves jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  moved text[];
  reserving text[];
  payments bigint[] := '{}';
  works int;
BEGIN
  SELECT array_agg(m.refund_id), array_agg(m.refund_id) FILTER (WHERE m.entries->-1->>'to' NOT IN (m.expected, 'completed'))
  INTO moved, reserving
  FROM jsonb_to_recordset(moves) AS m(refund_id text, expected text, entries jsonb) WHERE m.entries <> '[]';
  -- Again for a payment that was joined to another one while this waited for it.
  WHILE reserving IS NOT NULL
    AND EXISTS (SELECT FROM refund AS r WHERE r.id = ANY (reserving) AND r.payment_id <> ALL (payments)) LOOP
    payments := ARRAY (
      SELECT p.id FROM payment AS p
      WHERE p.id = ANY (ARRAY (SELECT r.payment_id FROM refund AS r WHERE r.id = ANY (reserving)))
      ORDER BY p.id FOR UPDATE);
  END LOOP;
  PERFORM FROM refund_work AS w WHERE w.refund_id = ANY (moved) ORDER BY w.refund_id FOR UPDATE;
  GET DIAGNOSTICS works = ROW_COUNT;
  IF works < cardinality(moved) THEN
    PERFORM FROM refund AS r
    WHERE r.id = ANY (moved) AND NOT EXISTS (SELECT FROM refund_work AS w WHERE w.refund_id = r.id)
    ORDER BY r.id FOR UPDATE;
  END IF;
END
$$;
