-- True for a refund of a connected account that may have been made before the last recovery: the payment had been charged then, and the
-- account was first used later, so that the recovery did not read it. A request that is repeated gets the lost refund's digest, so a
-- lookup finds that one. An account may be first used while a recovery goes on, which takes less than a day.
CREATE OR REPLACE FUNCTION may_be_lost(r refund) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM recovery AS last
    JOIN processor_account AS a ON a.id = r.account_id
    JOIN payment AS p ON p.id = r.payment_id
    WHERE last.id = 1 AND a.created_at > last.ended_at - interval '1 day' AND coalesce(p.charged_at < last.ended_at, true))
$$;
