-- Finds the payment of a request by any of its ids and locks its row. Of a payment that is not stored yet, it locks the names and
-- returns the row to insert, without an id. Never waits for another session: returns NULL while one holds or inserts the payment.
--
-- facts: what was just read from the processor, with transaction_ids; '{}' when it was unreachable, NULL when the id is stored.
-- If the payment is stored under another of its ids, the missing ones are added to it.
CREATE OR REPLACE FUNCTION hold_payment(of_account text, transaction_id text, facts jsonb, moment timestamptz) RETURNS payment
LANGUAGE plpgsql AS $$
DECLARE
  names text[];
  stored_id bigint := (SELECT n.payment_id FROM payment_name AS n WHERE n.account_id = of_account AND n.name = transaction_id);
  held payment;
BEGIN
  IF stored_id IS NULL AND facts IS NOT NULL THEN
    names := payment_ids(facts, transaction_id);
    IF NOT (SELECT bool_and(pg_try_advisory_xact_lock(name_lock)) FROM payment_name_locks(of_account, names) AS name_lock) THEN
      RETURN NULL;
    END IF;
    stored_id := (SELECT min(n.payment_id) FROM payment_name AS n WHERE n.account_id = of_account AND n.name = ANY (names));
    IF stored_id IS NULL THEN
      RETURN new_payment(of_account, facts, moment);
    END IF;
  END IF;
  -- A row that was just joined to another one is gone and counts as locked: the next call finds the other one.
  SELECT * INTO held FROM payment AS p WHERE p.id = stored_id FOR UPDATE SKIP LOCKED;
  IF FOUND AND names IS NOT NULL THEN
    PERFORM add_payment_names(held, names);
  END IF;
  RETURN held;
END
$$;
