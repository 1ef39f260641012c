-- Takes what processors told by themselves, each event once, however often and in whatever order it arrives. Nothing is
-- believed: an event that says what is on record needs no work, any other has its refund read again, and a payment of which
-- something else was refunded is read before it is next used. An item waits for another session only while that commits a
-- change of its refund's work.
--
-- items: a JSON array of objects with the columns named in the SELECT below.
--   refund_id, external_refund_id   of the refund that the event names, as far as it does
--   processor_status                the state that it says the refund is in
--   refunded_amount                 what it says was refunded of the payment in all, for an event about the payment alone
--   transaction_ids                 every id by which the payment may be on record
--
-- outcome: 'recorded', 'duplicate' or 'locked'; woken: the refunds that a worker is to look at.
CREATE OR REPLACE FUNCTION receive_processor_events(items jsonb)
RETURNS TABLE (item int, outcome text, woken text[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  told record;
  about refund;
  concerned text[];
  is_ours boolean;
  is_news boolean;
  payment_count int;
  locked_count int;
  news jsonb := '[]';
BEGIN
  FOR told IN
    SELECT each.ordinality::int - 1 AS item, t.*, a.organization_id, a.environment, a.processor
    FROM jsonb_array_elements(items) WITH ORDINALITY AS each(value, ordinality)
    CROSS JOIN LATERAL jsonb_to_record(each.value) AS t(
      id text, account_id text, external_event_id text, type text, payload text, refund_id text, external_refund_id text,
      processor_status text, refunded_amount bigint, transaction_ids text[])
    JOIN processor_account AS a ON a.id = t.account_id
    ORDER BY t.account_id, t.external_event_id
  LOOP
    item := told.item;
    woken := '{}';
    concerned := '{}';
    is_ours := false;
    IF NOT pg_try_advisory_xact_lock(
      hashtextextended(concat_ws('/', 'event', told.account_id, told.external_event_id), 0)) THEN
      outcome := 'locked'; RETURN NEXT; CONTINUE;
    END IF;
    IF EXISTS (SELECT FROM processor_event AS e
      WHERE e.account_id = told.account_id AND e.external_event_id = told.external_event_id) THEN
      outcome := 'duplicate'; RETURN NEXT; CONTINUE;
    END IF;

    FOR about IN
      SELECT r.* FROM refund AS r WHERE r.id = told.refund_id AND r.organization_id = told.organization_id
        AND r.environment = told.environment AND r.processor = told.processor
      UNION
      SELECT r.* FROM refund AS r WHERE r.organization_id = told.organization_id AND r.environment = told.environment
        AND r.processor = told.processor AND r.external_refund_id = told.external_refund_id
      ORDER BY 1
    LOOP
      concerned := concerned || about.id;
      -- One that only carries our id was made elsewhere: ours has another id there, or was never sent.
      is_ours := is_ours OR (about.status <> 'pending'
        AND coalesce(about.external_refund_id, told.external_refund_id) IS NOT DISTINCT FROM told.external_refund_id);
      is_news := about.external_refund_id IS DISTINCT FROM told.external_refund_id
        OR about.processor_status IS DISTINCT FROM told.processor_status;
      IF is_news AND about.status <> 'pending' THEN
        woken := woken || about.id;
      END IF;
    END LOOP;

    IF NOT is_ours THEN
      WITH locked AS (
        SELECT p.transaction_id, p.reserved + p.refunded_outside AS accounted FROM payment AS p
        WHERE p.organization_id = told.organization_id AND p.environment = told.environment
          AND p.processor = told.processor AND p.transaction_id = ANY (told.transaction_ids)
        ORDER BY p.transaction_id FOR UPDATE SKIP LOCKED
      ), doubted AS (
        -- An event that names no refund agrees as long as what it counts is accounted for.
        UPDATE payment AS p SET fetched_at = NULL, doubted_at = moment FROM locked
        WHERE p.organization_id = told.organization_id AND p.environment = told.environment
          AND p.processor = told.processor AND p.transaction_id = locked.transaction_id
          AND (told.refunded_amount IS NULL OR told.refunded_amount > locked.accounted)
      )
      SELECT count(*) INTO locked_count FROM locked;
      SELECT count(*) INTO payment_count FROM payment AS p
      WHERE p.organization_id = told.organization_id AND p.environment = told.environment
        AND p.processor = told.processor AND p.transaction_id = ANY (told.transaction_ids);
      IF locked_count < payment_count THEN
        outcome := 'locked'; woken := '{}'; RETURN NEXT; CONTINUE;
      END IF;
    END IF;
    INSERT INTO processor_event (id, account_id, external_event_id, type, payload, refund_id, external_refund_id,
      transaction_id, received_at)
    VALUES (told.id, told.account_id, told.external_event_id, told.type, told.payload, concerned[1],
      told.external_refund_id, told.transaction_ids[1], moment);
    FOR i IN 1 .. cardinality(woken) LOOP
      news := news || jsonb_build_object('refund_id', woken[i],
        'news', concat_ws(' ', told.external_refund_id, told.processor_status));
    END LOOP;
    outcome := 'recorded';
    RETURN NEXT;
  END LOOP;
  -- In the order in which every statement locks refunds, so that there is no deadlock.
  PERFORM request_resync(refund_id, each.news)
  FROM (SELECT * FROM jsonb_to_recordset(news) AS n(refund_id text, news text) ORDER BY refund_id) AS each;
END
$$;
