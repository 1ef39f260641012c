-- The next step of a refund with work, decided from the stored rows alone, so that a duplicate or late claim is harmless.
-- lease_refunds.sql describes the steps. is_verified: the payment is known and has the refund's currency, which is not sent: a processor
-- refunds in that of the payment. s: as in is_not_sent.sql. moment: the time of the claim.
CREATE OR REPLACE FUNCTION next_refund_step(r refund, w refund_work, s recovery, is_verified boolean, moment timestamptz) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  -- The one exception to is_not_sent.sql.
  IF after_server_error(w, moment) = 'same_key' THEN
    w.server_error_at := NULL;
  END IF;
  RETURN CASE
    WHEN r.status <> 'processing' THEN 'review'
    WHEN r.external_refund_id IS NOT NULL THEN
      CASE WHEN w.cancel_requested_at IS NOT NULL THEN 'cancel_at_processor' ELSE 'settle' END
    WHEN NOT is_not_sent(r, w, s) THEN 'look_up'
    WHEN w.cancel_requested_at IS NOT NULL THEN 'cancel'
    WHEN is_verified THEN 'send'
    ELSE 'verify' END;
END
$$;
