-- Makes refunds due that may wait because of their account at a processor, whose credentials were replaced: those that the
-- processor has not accepted, that are flagged or to be cancelled, or that have ended and wait for a resync or are flagged as missing
-- there: with the credentials of another account, all are. A step that comes too early is harmless, but for what a policy holds.
-- Refunds under a lease are left out. Returns the ids of those that became due.
CREATE OR REPLACE FUNCTION resume_refunds(owner_id text, owner_environment environment, named_processor text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
BEGIN
  RETURN QUERY UPDATE refund_work AS resumed SET due_at = moment
  WHERE resumed.refund_id = ANY (ARRAY(
    SELECT w.refund_id FROM refund_work AS w JOIN refund AS r ON r.id = w.refund_id
    WHERE w.refund_id = ANY (ARRAY(
        SELECT d.refund_id FROM refund_work AS d
        WHERE d.organization_id = owner_id AND d.environment = owner_environment AND d.processor = named_processor
          AND d.due_at > moment
        UNION ALL
        SELECT f.refund_id FROM refund_work AS f
        WHERE f.organization_id = owner_id AND f.environment = owner_environment AND f.flagged_at IS NOT NULL
          AND f.processor = named_processor AND f.flag_reason = 'missing_there' AND f.due_at IS NULL))
      AND (w.cancel_requested_at IS NOT NULL OR r.external_refund_id IS NOT NULL OR coalesce(r.held_until <= moment, true))
      AND (r.status <> 'processing' OR r.external_refund_id IS NULL
        OR w.flagged_at IS NOT NULL OR w.cancel_requested_at IS NOT NULL)
      AND (w.leased_until IS NULL OR w.leased_until <= moment)
    -- Every statement locks in this order.
    ORDER BY w.refund_id FOR UPDATE OF w))
  RETURNING resumed.refund_id;
END
$$;
