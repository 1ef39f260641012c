-- Has a refund read again from its processor as soon as a worker can, whatever its status. The request is kept until a worker
-- has read the refund after it; repeating it is harmless.
-- Returns false for a refund that awaits approval: it has never been at the processor.
CREATE OR REPLACE FUNCTION request_resync(asked_id text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
BEGIN
  INSERT INTO refund_work AS w (
    refund_id, account_id, parent_id, organization_id, environment, processor, due_at, resync_requested_at)
  SELECT id, account_id, CASE WHEN is_connected THEN parent_of(account_id) END, organization_id, environment, processor, moment, moment
  FROM refund
  WHERE id = asked_id AND status <> 'pending'
  ON CONFLICT (refund_id) DO UPDATE SET
    due_at = LEAST(w.due_at, moment),
    resync_requested_at = moment;
  RETURN FOUND;
END
$$;
