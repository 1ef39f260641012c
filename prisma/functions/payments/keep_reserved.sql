-- The triggers on refund that keep payment.reserved, the sum of the live refunds of the payment. Nothing else writes it, so that it is
-- right whichever statement inserts refunds, moves them, or gives them another payment. Refunds are never deleted.
--
-- The payment is locked from then on. A statement that holds other locks has taken this one before them, as move_refunds does.
--
-- It fires for each refund that is inserted live, or whose reservation an update changes.
CREATE OR REPLACE FUNCTION keep_reserved() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  is_given_back boolean;
BEGIN
  -- OLD is NULL for a refund that is inserted.
  IF OLD.is_live THEN
    is_given_back := NOT NEW.is_live AND NEW.external_refund_id IS NOT NULL;
    UPDATE payment AS p SET reserved = p.reserved - OLD.amount,
      -- The payment is read again before its next use: a read under way may have found the refund at the processor, and would count it
      -- as made elsewhere, now that it has no reservation.
      fetched_at = CASE WHEN NOT is_given_back THEN p.fetched_at END,
      stale_since = CASE WHEN is_given_back THEN service_time() ELSE p.stale_since END
    WHERE p.id = OLD.payment_id;
  END IF;
  IF NEW.is_live THEN
    UPDATE payment AS p SET reserved = p.reserved + NEW.amount WHERE p.id = NEW.payment_id;
  END IF;
  RETURN NULL;
END
$$;
