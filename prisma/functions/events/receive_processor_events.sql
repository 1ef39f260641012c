-- Stores verified events of processors, each once, however often and in whatever order they arrive. An event is only a hint:
-- one that agrees with the record needs no work, and any other requests a resync of its refund. An event about a refund that
-- is not ours marks its payment as stale, unless the amount is accounted for. An item waits only while another session commits
-- a change of the same refund_work row.
--
-- items: a JSON array of objects with the columns named in the SELECT below.
--   refund_id, external_refund_id   of the refund, as far as the event names them
--   processor_status                the refund's status according to the event
--   refunded_amount                 the total refunded of the payment, in an event that names only the payment
--   transaction_ids                 every id of the payment
--
-- outcome: 'recorded', 'duplicate' or 'locked'; to_resync: the refunds to enqueue.
CREATE OR REPLACE FUNCTION receive_processor_events(items jsonb)
RETURNS TABLE (item int, outcome text, to_resync text[])
LANGUAGE plpgsql
-- Keep one plan that reads by key, in the order of the joins as written: one made while the tables were small would scan them.
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_material = off SET enable_bitmapscan = off SET join_collapse_limit = 1
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  event record;
  about refund;
  concerned text[];
  is_ours boolean;
  payments text[];
  locked_count int;
  reports jsonb := '[]';
BEGIN
  FOR event IN
    SELECT each.ordinality::int - 1 AS item, t.*, a.organization_id, a.environment, a.processor
    FROM jsonb_array_elements(items) WITH ORDINALITY AS each(value, ordinality)
    CROSS JOIN LATERAL jsonb_to_record(each.value) AS t(
      id text, account_id text, external_event_id text, type text, payload text, refund_id text, external_refund_id text,
      processor_status text, refunded_amount bigint, transaction_ids text[])
    JOIN processor_account AS a ON a.id = t.account_id
    ORDER BY t.account_id, t.external_event_id
  LOOP
    item := event.item;
    to_resync := '{}';
    concerned := '{}';
    is_ours := false;
    IF NOT pg_try_advisory_xact_lock(
      hashtextextended(concat_ws('/', 'event', event.account_id, event.external_event_id), 0)) THEN
      outcome := 'locked'; RETURN NEXT; CONTINUE;
    END IF;
    IF EXISTS (SELECT FROM processor_event AS e
      WHERE e.account_id = event.account_id AND e.external_event_id = event.external_event_id) THEN
      outcome := 'duplicate'; RETURN NEXT; CONTINUE;
    END IF;

    FOR about IN
      SELECT r.* FROM refund AS r WHERE r.id = event.refund_id AND r.organization_id = event.organization_id
        AND r.environment = event.environment AND r.processor = event.processor
      UNION
      SELECT r.* FROM refund AS r WHERE r.organization_id = event.organization_id AND r.environment = event.environment
        AND r.processor = event.processor AND r.external_refund_id = event.external_refund_id
      ORDER BY 1
    LOOP
      concerned := concerned || about.id;
      -- A refund that only carries our id was made elsewhere: ours has another id there, or was never sent.
      is_ours := is_ours OR (about.status <> 'pending'
        AND coalesce(about.external_refund_id, event.external_refund_id) IS NOT DISTINCT FROM event.external_refund_id);
      IF about.status <> 'pending' AND (about.external_refund_id IS DISTINCT FROM event.external_refund_id
        OR about.processor_status IS DISTINCT FROM event.processor_status) THEN
        to_resync := to_resync || about.id;
      END IF;
    END LOOP;

    IF NOT is_ours THEN
      SELECT coalesce(array_agg(DISTINCT coalesce(p.alias_of, p.transaction_id)), '{}') INTO payments FROM payment AS p
      WHERE p.organization_id = event.organization_id AND p.environment = event.environment
        AND p.processor = event.processor AND p.transaction_id = ANY (event.transaction_ids);
      WITH locked AS (
        SELECT p.transaction_id, p.reserved + p.refunded_outside AS accounted FROM payment AS p
        WHERE p.organization_id = event.organization_id AND p.environment = event.environment
          AND p.processor = event.processor AND p.transaction_id = ANY (payments) AND p.alias_of IS NULL
        ORDER BY p.transaction_id FOR UPDATE SKIP LOCKED
      ), marked AS (
        -- An event that names no refund agrees as long as what it counts is accounted for.
        UPDATE payment AS p SET fetched_at = NULL, stale_since = moment FROM locked
        WHERE p.organization_id = event.organization_id AND p.environment = event.environment
          AND p.processor = event.processor AND p.transaction_id = locked.transaction_id
          AND (event.refunded_amount IS NULL OR event.refunded_amount > locked.accounted)
      )
      SELECT count(*) INTO locked_count FROM locked;
      IF locked_count < cardinality(payments) THEN
        outcome := 'locked'; to_resync := '{}'; RETURN NEXT; CONTINUE;
      END IF;
    END IF;
    INSERT INTO processor_event (id, account_id, external_event_id, type, payload, refund_id, external_refund_id,
      transaction_id, received_at)
    VALUES (event.id, event.account_id, event.external_event_id, event.type, event.payload, concerned[1],
      event.external_refund_id, event.transaction_ids[1], moment);
    FOR i IN 1 .. cardinality(to_resync) LOOP
      reports := reports || jsonb_build_object('refund_id', to_resync[i],
        'reported', concat_ws(' ', event.external_refund_id, event.processor_status));
    END LOOP;
    outcome := 'recorded';
    RETURN NEXT;
  END LOOP;
  -- Every statement locks refunds in this order, so there is no deadlock.
  PERFORM request_resync(refund_id, each.reported)
  FROM (SELECT * FROM jsonb_to_recordset(reports) AS r(refund_id text, reported text) ORDER BY refund_id) AS each;
END
$$;
