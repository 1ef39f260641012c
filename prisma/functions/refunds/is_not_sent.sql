-- True when it is certain that the processor does not have a refund: nothing was sent, or everything that was sent is known not to have
-- been applied. The one definition: whatever sends, cancels or ends a refund without asking its processor is decided by it.
--
-- w: the refund's work, NULL without any.
--
-- An attempt writes unknown_since before it starts, so a running one shows here even if its worker died. One that was made after the
-- backup from which the database was restored does not show, so nothing is certain while a recovery is required.
CREATE OR REPLACE FUNCTION is_not_sent(r refund, w refund_work) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF r.external_refund_id IS NOT NULL OR w.unknown_since IS NOT NULL OR w.approval_requested_at IS NOT NULL
    OR w.resync_requested_at IS NOT NULL THEN
    RETURN false;
  END IF;
  -- Last, because it reads a table.
  RETURN NOT EXISTS (SELECT FROM recovery WHERE id = 1 AND required_since IS NOT NULL);
END
$$;
