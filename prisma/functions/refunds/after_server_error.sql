-- What may follow once a processor has answered an attempt with a server error: it may carry the attempt out later, whatever lookups find
-- until then (docs/processor-answers.md). NULL without such an answer. Past the retry deadline of a refund a worker takes `same_key` as
-- `person`. continue_refund_works.sql says which record ends the state.
--
--   same_key  another attempt with the same key, once a lookup finds nothing: the processor certainly repeats its answer for the key. It keeps
--             one for a day from the first attempt, and a call takes some of that (https://docs.stripe.com/api/idempotent_requests)
--   wait      a cancellation, once no lookup has found the refund for a day: no key guards it
--   person    nothing without a person
CREATE OR REPLACE FUNCTION after_server_error(w refund_work, moment timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN w.server_error_at IS NULL THEN NULL
    WHEN w.cancel_requested_at IS NOT NULL THEN 'wait'
    WHEN NOT w.is_key_spent AND moment - w.key_used_at < interval '23 hours' THEN 'same_key'
    ELSE 'person' END
$$;
