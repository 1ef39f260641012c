-- Compares verified events of processors with the record. It locks nothing, and reads by ids alone.
--
-- items: a JSON array of objects:
--   account_id, connected_account   whose webhook it is, and the account connected to it that it is about; null for itself
--   refund_id, external_refund_id   of the refund, as far as the event names them
--   processor_status                the refund's status according to the event
--   bank_reference                  the bank's reference of the refund, where the event has one
--   refunded_amount                 the total refunded of the payment, in an event that names only the payment
--   transaction_ids                 every id of the payment
--
-- One row per item. An event agrees with the record when to_resync and stale are empty. Columns:
--   account_updated_at   null when there is no such account
--   about_account        the account that it is about; null when that is none of ours
--   refund_id            the first refund of the account that the event is about
--   to_resync            those that differ from the event
--   is_held              whether a worker holds one of those, and may be about to record the same
--   stale                the payments of which more may have been refunded
CREATE OR REPLACE FUNCTION compare_processor_events(items jsonb)
RETURNS TABLE (
  item int, account_updated_at timestamptz, about_account text, refund_id text, to_resync text[], is_held boolean, stale bigint[])
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  moment timestamptz := service_time();
BEGIN
  RETURN QUERY SELECT event.position::int - 1, account.updated_at, account.about_id, about.first_id, about.different, about.is_held, paid.stale
  FROM ROWS FROM (jsonb_to_recordset(items) AS (account_id text, connected_account text, refund_id text, external_refund_id text,
      processor_status text, bank_reference text, refunded_amount bigint, transaction_ids text[])) WITH ORDINALITY
    AS event(account_id, connected_account, refund_id, external_refund_id, processor_status, bank_reference, refunded_amount, transaction_ids, position)
  -- By its key: joined, the accounts of all organizations would be read.
  LEFT JOIN LATERAL (
    SELECT a.updated_at, CASE WHEN event.connected_account IS NULL THEN a.id ELSE (
      SELECT connected.id FROM processor_account AS connected
      WHERE connected.parent_id = a.id AND connected.connected_account = event.connected_account) END AS about_id
    FROM processor_account AS a WHERE a.id = event.account_id OFFSET 0) AS account ON true
  CROSS JOIN LATERAL (
    SELECT min(r.id) AS first_id, coalesce(array_agg(r.id) FILTER (WHERE differs), '{}') AS different,
      coalesce(bool_or(w.leased_until > moment) FILTER (WHERE differs), false) AS is_held,
      -- A refund that only carries our id was made elsewhere: ours has another id there, or was never sent.
      coalesce(bool_or(r.status <> 'pending'
        AND coalesce(r.external_refund_id, event.external_refund_id) IS NOT DISTINCT FROM event.external_refund_id), false) AS is_ours
    FROM (
      -- The account is checked outside, so that no index but those of these ids fits.
      SELECT each.* FROM refund AS each WHERE each.id = ANY (event.refund_id || ARRAY(
        SELECT named.id FROM refund AS named WHERE named.external_refund_id = event.external_refund_id))
      OFFSET 0
    ) AS r
    LEFT JOIN refund_work AS w ON w.refund_id = r.id
    CROSS JOIN LATERAL (SELECT r.status <> 'pending' AND (r.external_refund_id IS DISTINCT FROM event.external_refund_id
      OR r.processor_status IS DISTINCT FROM event.processor_status
      OR r.arrival->>'reference' IS DISTINCT FROM coalesce(event.bank_reference, r.arrival->>'reference')) AS differs) AS compared
    WHERE r.account_id = account.about_id
  ) AS about
  CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(DISTINCT p.id), '{}') AS stale
    FROM unnest(CASE WHEN NOT about.is_ours THEN event.transaction_ids END) AS each(name)
    -- By the whole key: joined, all names of the account would be read.
    CROSS JOIN LATERAL (
      SELECT n.payment_id FROM payment_name AS n WHERE n.account_id = account.about_id AND n.name = each.name OFFSET 0
    ) AS named
    JOIN payment AS p ON p.id = named.payment_id
    -- An event that names no refund agrees as long as what it counts is accounted for.
    WHERE event.refunded_amount IS NULL OR event.refunded_amount > p.reserved + p.refunded_outside
  ) AS paid;
END
$$;
