-- A payment that is not stored yet, without an id, as far as it is known.
--
-- facts: {amount, currency, charged_at, refunded_outside, fetched_at}
CREATE OR REPLACE FUNCTION new_payment(
  owner_id text, owner_environment environment, owner_processor text, facts jsonb, moment timestamptz
) RETURNS payment
LANGUAGE sql STABLE AS $$
  SELECT jsonb_populate_record(NULL::payment, jsonb_build_object('refunded_outside', 0) || facts || jsonb_build_object(
    'organization_id', owner_id, 'environment', owner_environment, 'processor', owner_processor, 'reserved', 0,
    'created_at', moment))
$$;
