-- Stores a payment under further names of it, except those that it or another payment of its account has already.
CREATE OR REPLACE FUNCTION add_payment_names(paid payment, names text[]) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO payment_name (account_id, name, organization_id, environment, payment_id)
  SELECT DISTINCT paid.account_id, each.name, paid.organization_id, paid.environment, paid.id FROM unnest(names) AS each(name)
  ON CONFLICT DO NOTHING
$$;
