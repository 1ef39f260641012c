-- Stores a payment under every id that its processor has for it. If that shows that two stored payments are one, the names,
-- refunds and reservations of the others move to the first. There are two when both were stored while the processor was
-- unreachable. What is stored of the first then counts as not read, so that refunds that do not fit any more are found before
-- they are sent.
--
-- asked: {account_id, transaction_id, transaction_ids}
CREATE OR REPLACE FUNCTION join_payments(asked jsonb) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  of_account text := asked->>'account_id';
  names text[] := payment_ids(asked, asked->>'transaction_id');
  is_alone boolean := false;
  is_complete boolean;
  stored_ids bigint[];
  first_id bigint;
  first payment;
  other_ids bigint[];
BEGIN
  LOOP
    SELECT array_agg(DISTINCT stored.payment_id) FILTER (WHERE stored.name IS NOT NULL), bool_and(stored.name IS NOT NULL)
    INTO stored_ids, is_complete
    FROM unnest(names) AS each(name)
    LEFT JOIN LATERAL (SELECT n.name, n.payment_id FROM payment_name AS n WHERE n.account_id = of_account AND n.name = each.name
      -- Name by name: joined at once, all names of the account would be read.
      OFFSET 0) AS stored ON true;
    IF is_complete AND cardinality(stored_ids) = 1 THEN
      RETURN;
    END IF;
    EXIT WHEN is_alone;
    PERFORM pg_advisory_xact_lock(name_lock) FROM payment_name_locks(of_account, names) AS name_lock;
    -- Only one session at a time moves names, so what is read next stays true.
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws('/', 'join payments', of_account), 0));
    is_alone := true;
  END LOOP;

  IF stored_ids IS NULL THEN
    PERFORM insert_payment(new_payment(of_account, '{}', service_time()), names);
    RETURN;
  END IF;
  first_id := stored_ids[1];
  other_ids := stored_ids[2:];
  -- Payments before work before refunds: every statement locks in this order.
  PERFORM FROM payment AS p WHERE p.id = ANY (stored_ids) ORDER BY p.id FOR UPDATE;
  SELECT * INTO first FROM payment AS p WHERE p.id = first_id;
  PERFORM add_payment_names(first, names);
  IF other_ids = '{}' THEN
    RETURN;
  END IF;
  PERFORM FROM refund_work AS w
  WHERE w.refund_id = ANY (ARRAY(SELECT r.id FROM refund AS r WHERE r.payment_id = ANY (other_ids)))
  ORDER BY w.refund_id FOR UPDATE;
  -- Before their reservations, which a known amount may not have room for.
  UPDATE payment AS p SET amount = NULL, currency = NULL, charged_at = NULL, has_transfer = NULL, transfer_destination = NULL,
    has_application_fee = NULL, refunded_outside = 0, fetched_at = NULL,
    -- A read that began before either row was read, or became stale, does not count as fresh.
    stale_since = GREATEST(p.stale_since, p.fetched_at, others.stale_since),
    disputed_at = LEAST(p.disputed_at, others.disputed_at)
  FROM (
    SELECT max(GREATEST(o.stale_since, o.fetched_at)) AS stale_since, min(o.disputed_at) AS disputed_at
    FROM payment AS o WHERE o.id = ANY (other_ids)
  ) AS others WHERE p.id = first_id;
  -- Moves the reservations as well (keep_reserved.sql).
  UPDATE refund AS r SET payment_id = first_id WHERE r.payment_id = ANY (other_ids);
  UPDATE payment_name AS n SET payment_id = first_id WHERE n.payment_id = ANY (other_ids);
  DELETE FROM payment AS p WHERE p.id = ANY (other_ids);
END
$$;
