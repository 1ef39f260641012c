-- Inserts a payment under its names and returns its id. The caller holds the locks of the names (payment_name_locks.sql).
CREATE OR REPLACE FUNCTION insert_payment(paid payment, names text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  paid.id := nextval('payment_id_seq');
  INSERT INTO payment SELECT paid.*;
  PERFORM add_payment_names(paid, names);
  RETURN paid.id;
END
$$;
