-- Whether a timeline entry of this type proves whether the processor has the refund, so that no attempt is of unknown outcome any more.
-- attempt.misconfigured is one too where record_refunds.sql is told so: it also notes that a lookup was refused.
CREATE OR REPLACE FUNCTION is_proof(event_type text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT event_type IN ('attempt.accepted', 'attempt.unavailable', 'lookup.found', 'lookup.absent',
    'refund.completed', 'refund.failed', 'refund.cancelled')
$$;
