-- How many refunds refunds_of_requester.sql finds, and the total of those in one currency, in minor units.
CREATE OR REPLACE FUNCTION requested_refunds(
  owner_id text, owner_environment environment, requester text, asked_currency text, since timestamptz, before timestamptz
) RETURNS TABLE (made_count bigint, made_amount bigint)
LANGUAGE sql STABLE AS $$
  SELECT count(*), coalesce(sum(made.amount) FILTER (WHERE made.currency = asked_currency), 0)::bigint
  FROM refunds_of_requester(owner_id, owner_environment, requester, since, before) AS made
$$;
