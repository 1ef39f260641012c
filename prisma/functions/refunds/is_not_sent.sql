-- True when it is certain that the processor does not have a refund: nothing was sent, or everything that was sent is known not to have
-- been applied. The one definition: whatever sends, cancels or ends a refund without asking its processor is decided by it.
--
-- w: the refund's work, NULL without any. s: the row of recovery; without it nothing is certain.
--
-- An attempt writes unknown_since before it starts, so a running one shows here even if its worker died. One that was made after the
-- backup from which the database was restored does not show, so nothing is certain while a recovery is required, nor after one that did
-- not read the account of a refund that awaited approval. (What was being sent is looked up or read after a recovery.)
CREATE OR REPLACE FUNCTION is_not_sent(r refund, w refund_work, s recovery) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN r.external_refund_id IS NULL
    AND w.unknown_since IS NULL AND w.approval_requested_at IS NULL AND w.server_error_at IS NULL AND w.resync_requested_at IS NULL
    AND s.id IS NOT NULL AND s.required_since IS NULL
    AND CASE WHEN r.status = 'pending' AND r.is_connected AND r.created_at < s.ended_at THEN NOT may_be_lost(r) ELSE true END;
END
$$;
