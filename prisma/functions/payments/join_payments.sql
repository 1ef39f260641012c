-- Merges the rows of one payment: inserts its missing ids as aliases (insert_payments.sql), and turns a second row that holds the
-- payment into an alias of the first. There are two when both were stored while the processor was unreachable.
--
-- The refunds and reservations of the joined row move to the one that stays. What it holds then counts as not read, so
-- refunds that do not fit any more are found before they are sent.
--
-- asked: an item of insert_payments; payment.transaction_ids is in an order that is the same whichever id was requested.
-- Returns the transaction id of the row that holds the payment.
CREATE OR REPLACE FUNCTION join_payments(asked jsonb) RETURNS text
LANGUAGE plpgsql
-- Keep one plan that reads by key, in the order of the joins as written: one made while the tables were small would scan them.
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
DECLARE
  owner record;
  ids text[] := ARRAY(SELECT jsonb_array_elements_text(asked->'payment'->'transaction_ids')) || (asked->>'transaction_id');
  is_alone boolean := false;
  holders text[];
  joined payment;
BEGIN
  SELECT * INTO owner FROM jsonb_to_record(asked) AS o(organization_id text, environment environment, processor text);
  PERFORM insert_payments(jsonb_build_array(asked), service_time());
  LOOP
    SELECT array_agg(held.id ORDER BY held.place) INTO holders FROM (
      SELECT coalesce(p.alias_of, p.transaction_id) AS id, min(array_position(ids, p.transaction_id)) AS place
      FROM payment AS p
      WHERE p.organization_id = owner.organization_id AND p.environment = owner.environment
        AND p.processor = owner.processor AND p.transaction_id = ANY (ids)
      GROUP BY 1
    ) AS held;
    IF cardinality(holders) = 1 THEN
      RETURN holders[1];
    END IF;
    IF NOT is_alone THEN
      -- Only one session at a time turns rows into aliases, so what is read next stays true.
      PERFORM pg_advisory_xact_lock(hashtextextended(
        concat_ws('/', 'join payments', owner.organization_id, owner.environment, owner.processor), 0));
      is_alone := true;
      CONTINUE;
    END IF;

    -- Payments before work before refunds: every statement locks in this order.
    PERFORM FROM payment AS p
    WHERE p.organization_id = owner.organization_id AND p.environment = owner.environment
      AND p.processor = owner.processor AND p.transaction_id IN (holders[1], holders[2])
    ORDER BY p.transaction_id FOR UPDATE;
    PERFORM FROM refund AS r JOIN refund_work AS w ON w.refund_id = r.id
    WHERE r.organization_id = owner.organization_id AND r.environment = owner.environment
      AND r.processor = owner.processor AND r.payment_id = holders[2]
    ORDER BY w.refund_id FOR UPDATE OF w;
    UPDATE refund AS r SET payment_id = holders[1]
    WHERE r.organization_id = owner.organization_id AND r.environment = owner.environment
      AND r.processor = owner.processor AND r.payment_id = holders[2];
    SELECT * INTO joined FROM payment AS p
    WHERE p.organization_id = owner.organization_id AND p.environment = owner.environment
      AND p.processor = owner.processor AND p.transaction_id = holders[2];
    IF joined.transaction_id IS NULL OR joined.alias_of IS NOT NULL THEN
      RAISE EXCEPTION 'No row holds the payment %', holders[2];
    END IF;
    UPDATE payment AS p SET alias_of = holders[1], amount = NULL, currency = NULL, charged_at = NULL, reserved = 0,
      refunded_outside = 0, fetched_at = NULL
    WHERE p.organization_id = owner.organization_id AND p.environment = owner.environment
      AND p.processor = owner.processor AND p.transaction_id = holders[2];
    UPDATE payment AS p SET amount = NULL, currency = NULL, charged_at = NULL, reserved = p.reserved + joined.reserved,
      refunded_outside = 0, fetched_at = NULL,
      -- A read that began before either row was read, or became stale, does not count as fresh.
      stale_since = GREATEST(p.stale_since, joined.stale_since, p.fetched_at, joined.fetched_at)
    WHERE p.organization_id = owner.organization_id AND p.environment = owner.environment
      AND p.processor = owner.processor AND p.transaction_id = holders[1];
  END LOOP;
END
$$;
