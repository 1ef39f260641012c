-- The call of the processor that a step makes, as shared/processors/contract/processor.ts names it; NULL for a step without one. A second
-- call that some answers lead to is not counted: the read after a cancellation that is not confirmed, and the lookup after a rejection of a
-- repeated attempt.
CREATE OR REPLACE FUNCTION operation_of_step(step text, external_refund_id text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE step
    WHEN 'verify' THEN 'getPayment'
    WHEN 'send' THEN 'createRefund'
    WHEN 'look_up' THEN 'findRefund'
    WHEN 'settle' THEN 'getRefund'
    WHEN 'cancel_at_processor' THEN 'cancelRefund'
    WHEN 'review' THEN CASE WHEN external_refund_id IS NULL THEN 'findRefund' ELSE 'getRefund' END
  END
$$;
