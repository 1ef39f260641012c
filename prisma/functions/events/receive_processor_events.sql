-- Stores verified events of processors that differ from the record, each once, and has read again what they are about: a refund
-- of ours as soon as a worker can, a payment before its next use. Nothing else of an event is believed. They are compared here
-- once more, because the record may agree by now. A payment that is locked is not waited for; a refund_work row is.
--
-- items: as compare_processor_events takes them, and {external_event_id, type, is_charged_back}. A payment that was charged back needs
-- attention until a read says otherwise.
--
-- outcome: 'recorded', 'duplicate', 'agrees' or 'locked'; to_resync: the refunds that a worker is to read again.
CREATE OR REPLACE FUNCTION receive_processor_events(items jsonb)
RETURNS TABLE (item int, outcome text, to_resync text[])
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  locked bigint[];
BEGIN
  -- Payments before work: every statement locks in this order.
  locked := ARRAY(SELECT p.id FROM payment AS p
    WHERE p.id = ANY (ARRAY(SELECT unnest(c.stale) FROM compare_processor_events(items) AS c))
    ORDER BY p.id FOR UPDATE SKIP LOCKED);
  -- A separate statement, because it must see what was committed before the rows were locked.
  RETURN QUERY WITH compared AS MATERIALIZED (
    SELECT e.*, c.*, c.about_account AS account_id, c.stale <@ locked AS is_free, c.to_resync <> '{}' OR c.stale <> '{}' AS differs
    FROM compare_processor_events(items) AS c
    CROSS JOIN LATERAL jsonb_to_record(items->c.item) AS e(
      external_event_id text, type text, external_refund_id text, processor_status text, is_charged_back boolean)
  ), stored AS (
    INSERT INTO processor_event (account_id, external_event_id, type, refund_id, external_refund_id, processor_status,
      received_at)
    SELECT account_id, external_event_id, type, refund_id, external_refund_id, processor_status, moment
    FROM compared WHERE differs AND is_free
    -- Every statement inserts and locks in these orders, so there is no deadlock.
    ORDER BY account_id, external_event_id
    ON CONFLICT DO NOTHING
    RETURNING account_id, external_event_id
  ), new AS (
    SELECT * FROM compared JOIN stored USING (account_id, external_event_id)
  ), marked AS (
    UPDATE payment SET fetched_at = NULL, stale_since = moment,
      disputed_at = CASE WHEN payment.id = ANY (ARRAY(SELECT unnest(stale) FROM new WHERE is_charged_back))
        THEN coalesce(disputed_at, moment) ELSE disputed_at END
    WHERE payment.id = ANY (ARRAY(SELECT unnest(stale) FROM new))
  ), requested AS MATERIALIZED (
    SELECT each.refund_id FROM (SELECT DISTINCT unnest(to_resync) AS refund_id FROM new ORDER BY 1) AS each
    WHERE request_resync(each.refund_id)
  )
  SELECT item, CASE WHEN NOT c.differs THEN 'agrees' WHEN NOT c.is_free THEN 'locked'
      WHEN new.item IS NULL THEN 'duplicate' ELSE 'recorded' END,
    ARRAY(SELECT r.refund_id FROM requested AS r WHERE r.refund_id = ANY (new.to_resync))
  FROM compared AS c LEFT JOIN new USING (item);
END
$$;
