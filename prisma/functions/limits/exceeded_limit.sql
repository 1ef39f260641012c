-- Whether one more refund of a payment exceeds a limit, or whether the decision about it no longer holds. The caller has
-- locked the payment's row. Refunds of the organization, of a key and of a requester are counted under a lock, one creation at a
-- time.
--
-- limits, each optional:
--   min_taken, max_taken    the range, in minor units, in which the total of the payment's refunds with this one must be for
--                           the decision to hold
--   max_refunds             of the payment
--   day_count, day_amount   of the organization in 24 hours, the amount in the payment's currency
--   key_day_amount          of the key api_key_id in 24 hours
--   requester_day_count, requester_day_amount
--                           of the requester in 24 hours
-- asked_requester: see requester_of.sql.
--
-- Returns 'limited', 'locked' when another session is counting, or NULL.
CREATE OR REPLACE FUNCTION exceeded_limit(
  limits jsonb, paid payment, asked_amount bigint, asked_currency text, asked_requester text, moment timestamptz
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  taken bigint := paid.reserved + paid.refunded_outside + asked_amount;
  made_count bigint;
  made_amount numeric;
BEGIN
  IF taken > (limits->>'max_taken')::bigint OR taken < (limits->>'min_taken')::bigint THEN
    RETURN 'limited';
  END IF;
  IF limits ? 'max_refunds' THEN
    SELECT count(*) INTO made_count FROM refund
    WHERE payment_id = paid.id AND is_live;
    IF made_count >= (limits->>'max_refunds')::bigint THEN
      RETURN 'limited';
    END IF;
  END IF;
  IF limits ? 'day_count' OR limits ? 'day_amount' THEN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(
      concat_ws('/', 'policies', paid.organization_id, paid.environment), 0)) THEN
      RETURN 'locked';
    END IF;
    SELECT count(*), coalesce(sum(amount) FILTER (WHERE currency = asked_currency), 0) INTO made_count, made_amount
    FROM refund
    WHERE organization_id = paid.organization_id AND environment = paid.environment
      AND created_at > moment - interval '24 hours' AND is_live;
    IF made_count >= (limits->>'day_count')::bigint OR made_amount + asked_amount > (limits->>'day_amount')::bigint THEN
      RETURN 'limited';
    END IF;
  END IF;
  IF limits ? 'key_day_amount' THEN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(concat_ws('/', 'api key', limits->>'api_key_id'), 0)) THEN
      RETURN 'locked';
    END IF;
    SELECT coalesce(sum(amount), 0) INTO made_amount FROM refund
    WHERE requester = asked_requester AND created_at > moment - interval '24 hours'
      AND api_key_id = limits->>'api_key_id' AND currency = asked_currency
      AND is_live;
    IF made_amount + asked_amount > (limits->>'key_day_amount')::bigint THEN
      RETURN 'limited';
    END IF;
  END IF;
  IF limits ? 'requester_day_count' OR limits ? 'requester_day_amount' THEN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(
      concat_ws('/', 'requester', paid.organization_id, paid.environment, asked_requester), 0)) THEN
      RETURN 'locked';
    END IF;
    SELECT count(*), coalesce(sum(amount) FILTER (WHERE currency = asked_currency), 0) INTO made_count, made_amount
    FROM refund
    WHERE requester = asked_requester AND created_at > moment - interval '24 hours'
      -- Compared so that the index of the list does not fit.
      AND organization_id IS NOT DISTINCT FROM paid.organization_id AND environment IS NOT DISTINCT FROM paid.environment
      AND is_live;
    IF made_count >= (limits->>'requester_day_count')::bigint
      OR made_amount + asked_amount > (limits->>'requester_day_amount')::bigint THEN
      RETURN 'limited';
    END IF;
  END IF;
  RETURN NULL;
END
$$;
