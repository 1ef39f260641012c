-- Inserts payments that are not stored yet, under every id that their processor has for them: the facts in the row of the
-- requested id, the other ids as aliases of it. If one of the ids is stored already, the missing ones become its aliases.
--
-- items: a JSON array of objects; those without payment are left out
--   organization_id, environment, processor, transaction_id    the id that a request named
--   payment    {transaction_ids, amount, currency, charged_at, refunded_outside, fetched_at}, as far as they are known
CREATE OR REPLACE FUNCTION insert_payments(items jsonb, moment timestamptz) RETURNS void
LANGUAGE plpgsql
-- Keep one plan that reads by key, in the order of the joins as written: one made while the tables were small would scan them.
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
BEGIN
  INSERT INTO payment (organization_id, environment, processor, transaction_id, alias_of,
    amount, currency, charged_at, refunded_outside, fetched_at, created_at)
  SELECT i.organization_id, i.environment, i.processor, each.id, nullif(holder.id, each.id),
    facts.amount, facts.currency, facts.charged_at, coalesce(facts.refunded_outside, 0), facts.fetched_at, moment
  FROM jsonb_to_recordset(items) AS i(
    organization_id text, environment environment, processor text, transaction_id text, payment jsonb)
  CROSS JOIN LATERAL (SELECT array_append(
    ARRAY(SELECT jsonb_array_elements_text(i.payment->'transaction_ids')), i.transaction_id) AS ids) AS named
  CROSS JOIN LATERAL (SELECT coalesce((
    SELECT coalesce(p.alias_of, p.transaction_id) FROM payment AS p
    WHERE p.organization_id = i.organization_id AND p.environment = i.environment AND p.processor = i.processor
      AND p.transaction_id = ANY (named.ids)
    ORDER BY array_position(named.ids, p.transaction_id) LIMIT 1), i.transaction_id) AS id) AS holder
  CROSS JOIN LATERAL unnest(named.ids) AS each(id)
  LEFT JOIN LATERAL jsonb_to_record(i.payment) AS facts(
    amount bigint, currency text, charged_at timestamptz, refunded_outside bigint, fetched_at timestamptz)
    ON each.id = holder.id
  WHERE i.payment IS NOT NULL
  -- All sessions insert in the same order, so that two that insert the same payments cannot deadlock. If two items name one
  -- payment by different ids, the lower one of the holders' ids wins in every row.
  ORDER BY 1, 2, 3, 4, holder.id
  ON CONFLICT DO NOTHING;
END
$$;
