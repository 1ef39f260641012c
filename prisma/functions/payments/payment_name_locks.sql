-- The advisory locks of the names of a payment, in the order in which to take them. Who inserts names holds theirs, so that no
-- insert has to wait for another session's.
CREATE OR REPLACE FUNCTION payment_name_locks(of_account text, names text[]) RETURNS SETOF bigint
LANGUAGE sql STABLE AS $$
  SELECT DISTINCT hashtextextended(concat_ws('/', 'payment', of_account, each.name), 0)
  FROM unnest(names) AS each(name) ORDER BY 1
$$;
