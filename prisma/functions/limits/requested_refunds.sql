-- How many refunds refunds_of_requester.sql finds, and what those in a currency come to.
CREATE OR REPLACE FUNCTION requested_refunds(
  owner_id text, owner_environment environment, requester text, asked_currency text, since timestamptz, before timestamptz
) RETURNS TABLE (made_count bigint, made_amount bigint)
LANGUAGE sql STABLE AS $$
  SELECT count(*), coalesce(sum(made.amount) FILTER (WHERE made.currency = asked_currency), 0)::bigint
  FROM refunds_of_requester(owner_id, owner_environment, requester, since, before) AS made
$$;
