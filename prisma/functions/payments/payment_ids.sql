-- Every id of a payment in an item of create_refunds or join_payments: those that its processor reports, and the requested one.
CREATE OR REPLACE FUNCTION payment_ids(facts jsonb, transaction_id text) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT jsonb_array_elements_text(facts->'transaction_ids')) || transaction_id
$$;
