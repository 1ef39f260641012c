-- Makes refunds due that may wait because of their account, or of the one that theirs is connected to, whose credentials were replaced: those that the
-- processor has not accepted, that are flagged or to be cancelled, or that have ended and wait for a resync or are flagged as missing
-- there: with the credentials of another account, all are. A step that comes too early is harmless, but for what a policy holds.
-- Refunds under a lease are left out. Returns the ids of those that became due.
CREATE OR REPLACE FUNCTION resume_refunds(of_account text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
  owner record;
BEGIN
  SELECT a.processor, a.organization_id, a.environment INTO owner FROM processor_account AS a WHERE a.id = of_account;
  RETURN QUERY UPDATE refund_work AS resumed SET due_at = moment
  WHERE resumed.refund_id = ANY (ARRAY(
    SELECT w.refund_id FROM refund_work AS w JOIN refund AS r ON r.id = w.refund_id
    WHERE w.refund_id = ANY (ARRAY(
        SELECT each.refund_id FROM (
          SELECT d.refund_id, d.account_id FROM refund_work AS d
          WHERE d.processor = owner.processor AND d.organization_id = owner.organization_id AND d.environment = owner.environment
            AND d.due_at > moment
          UNION ALL
          SELECT f.refund_id, f.account_id FROM refund_work AS f
          WHERE f.organization_id = owner.organization_id AND f.environment = owner.environment AND f.flagged_at IS NOT NULL
            AND f.flag_reason = 'missing_there' AND f.due_at IS NULL
        ) AS each CROSS JOIN LATERAL (
          SELECT FROM processor_account AS a
          WHERE a.id = each.account_id AND of_account IN (a.id, a.parent_id)) AS affected))
      AND (w.cancel_requested_at IS NOT NULL OR r.external_refund_id IS NOT NULL OR coalesce(r.held_until <= moment, true))
      AND (r.status <> 'processing' OR r.external_refund_id IS NULL
        OR w.flagged_at IS NOT NULL OR w.cancel_requested_at IS NOT NULL)
      AND (w.leased_until IS NULL OR w.leased_until <= moment)
    -- Every statement locks in this order.
    ORDER BY w.refund_id FOR UPDATE OF w))
  RETURNING resumed.refund_id;
END
$$;
