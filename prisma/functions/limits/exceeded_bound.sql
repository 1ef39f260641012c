-- Whether a decision about a refund no longer holds: a total that it was decided on is, with this refund, outside of the bounds that the
-- decision named. Nothing is decided here. The caller has locked the payment's row; the other totals are counted under a lock, one
-- creation at a time.
--
-- bounds: by what counted_refunds.sql counts, such as {"payment": {"min_amount": 501, "max_amount": 1000}, "requester": {"max_count": 3}};
-- inclusive, amounts in minor units, each of the three optional. See shared/policies/bounds.ts.
-- asked_requester: see requester_of.sql.
--
-- Returns 'limited', 'locked' when another session is counting, or NULL.
CREATE OR REPLACE FUNCTION exceeded_bound(
  bounds jsonb, paid payment, asked_amount bigint, asked_currency text, asked_requester text, asked_key text, moment timestamptz
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  bound record;
  made_count int;
  made_amount bigint;
BEGIN
  FOR bound IN
    SELECT each.key AS counted, b.*
    FROM jsonb_each(bounds) AS each(key, value)
    CROSS JOIN LATERAL jsonb_to_record(each.value) AS b(min_amount bigint, max_amount bigint, max_count int)
    -- The payment first: it takes no further lock.
    ORDER BY each.key <> 'payment', each.key
  LOOP
    IF bound.counted <> 'payment' AND NOT pg_try_advisory_xact_lock(hashtextextended(concat_ws('/', 'count', bound.counted,
      paid.organization_id, paid.environment,
      CASE bound.counted WHEN 'requester' THEN asked_requester WHEN 'api_key' THEN asked_key END), 0)) THEN
      RETURN 'locked';
    END IF;
    -- The row of a payment has the amount, with what was refunded outside this service.
    IF bound.counted <> 'payment' OR bound.max_count IS NOT NULL THEN
      SELECT c.refunds, c.amount INTO made_count, made_amount
      FROM counted_refunds(bound.counted, moment, paid.organization_id, paid.environment, asked_currency, paid.id,
        asked_requester, asked_key) AS c;
    END IF;
    IF bound.counted = 'payment' THEN
      made_amount := paid.reserved + paid.refunded_outside;
    END IF;
    IF made_count + 1 > bound.max_count OR made_amount + asked_amount > bound.max_amount
      OR made_amount + asked_amount < bound.min_amount THEN
      RETURN 'limited';
    END IF;
  END LOOP;
  RETURN NULL;
END
$$;
