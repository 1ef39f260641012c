-- A payment that is not stored yet, without an id, as far as it is known.
--
-- facts: {external_id, amount, currency, charged_at, refunded_outside, fetched_at, has_transfer, transfer_destination, has_application_fee}
CREATE OR REPLACE FUNCTION new_payment(of_account text, facts jsonb, moment timestamptz) RETURNS payment
LANGUAGE sql STABLE AS $$
  SELECT jsonb_populate_record(NULL::payment, jsonb_build_object('refunded_outside', 0) || facts || jsonb_build_object(
    'account_id', a.id, 'organization_id', a.organization_id, 'environment', a.environment, 'reserved', 0, 'created_at', moment))
  FROM processor_account AS a WHERE a.id = of_account
$$;
