-- Inserts a payment under its names and returns its id. The caller holds the locks of the names (payment_name_locks.sql).
CREATE OR REPLACE FUNCTION insert_payment(paid payment, names text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  paid.id := nextval('payment_id_seq');
  INSERT INTO payment SELECT paid.*;
  INSERT INTO payment_name (organization_id, environment, processor, name, payment_id)
  SELECT DISTINCT paid.organization_id, paid.environment, paid.processor, each.name, paid.id FROM unnest(names) AS each(name);
  RETURN paid.id;
END
$$;
