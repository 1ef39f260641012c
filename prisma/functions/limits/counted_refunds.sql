-- How many refunds count towards a limit, and what they come to: those that have neither failed nor been cancelled. Decisions read it, and
-- creations compare it again; shared/insights/past-totals.ts counts the refunds of the past by the same rule.
--
-- counted:
--   payment        all refunds of the payment paid_id
--   organization   its refunds in the environment in the 24 hours before the moment
--   requester      those of the requester among them; see requester_of.sql
--   api_key        those of the requester's API key asking_key among them
--
-- amount: of those in the currency, in minor units. last_at: when the last refund of the payment was created; NULL for the others.
CREATE OR REPLACE FUNCTION counted_refunds(
  counted text, moment timestamptz, owner_id text, owner_environment environment, counted_currency text,
  paid_id bigint DEFAULT NULL, behind text DEFAULT NULL, asking_key text DEFAULT NULL,
  OUT refunds int, OUT amount bigint, OUT last_at timestamptz
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  since timestamptz := moment - interval '24 hours';
BEGIN
  IF counted = 'payment' THEN
    SELECT count(*), coalesce(sum(r.amount) FILTER (WHERE r.currency = counted_currency), 0), max(r.created_at)
    INTO refunds, amount, last_at
    FROM refund AS r
    WHERE r.payment_id = paid_id AND r.is_live;
  ELSIF counted = 'organization' THEN
    SELECT count(*), coalesce(sum(r.amount) FILTER (WHERE r.currency = counted_currency), 0)
    INTO refunds, amount FROM refund AS r
    WHERE r.organization_id = owner_id AND r.environment = owner_environment
      AND r.created_at > since AND r.is_live;
  ELSE
    SELECT count(*), coalesce(sum(r.amount) FILTER (WHERE r.currency = counted_currency), 0)
    INTO refunds, amount FROM refund AS r
    WHERE r.requester = behind AND r.created_at > since AND r.is_live
      -- Compared so that the index of the list does not fit.
      AND r.organization_id IS NOT DISTINCT FROM owner_id AND r.environment IS NOT DISTINCT FROM owner_environment
      AND (counted = 'requester' OR r.api_key_id = asking_key);
  END IF;
END
$$;
