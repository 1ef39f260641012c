-- Ends a lease and says what is left to do. Work that leads nowhere any more is deleted: the refund has ended, no flag is
-- raised and no news arrived meanwhile. A flag about another refund under this one's name ends by name only, so nothing that
-- was learnt of this refund raises, replaces or ends it. The arguments are those of record_refunds.
CREATE OR REPLACE FUNCTION continue_refund_work(
  work refund_work, r refund, due_in_ms double precision, retrying boolean, failures int,
  is_known boolean, ends_cancel boolean, flag jsonb, moment timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF flag IS NOT NULL AND work.extra_refund_id IS NULL THEN
    work.flagged_at := CASE WHEN flag ? 'reason' THEN moment END;
    work.flag_reason := flag->>'reason';
  END IF;
  -- What was read in this lease may be older than the news, unless the news say no more.
  IF work.resync_news = concat_ws(' ', r.external_refund_id, r.processor_status) THEN
    work.resync_requested_at := NULL;
    work.resync_news := NULL;
  END IF;
  -- A request to cancel that arrived during the lease has set enqueued_at.
  IF work.resync_requested_at IS NOT NULL OR (r.status = 'processing' AND work.enqueued_at IS NOT NULL) THEN
    work.due_at := moment;
  ELSIF due_in_ms IS NOT NULL THEN
    work.due_at := moment + due_in_ms * interval '1 millisecond';
  ELSE
    work.due_at := NULL;
  END IF;
  IF r.status = 'processing' AND work.due_at IS NULL THEN
    RAISE EXCEPTION 'Refund % is processing and would never be looked at again', r.id;
  END IF;
  IF work.due_at IS NULL AND work.flagged_at IS NULL THEN
    DELETE FROM refund_work WHERE refund_id = work.refund_id;
    RETURN;
  END IF;
  UPDATE refund_work SET
    due_at = work.due_at,
    enqueued_at = NULL,
    leased_until = NULL,
    resync_requested_at = work.resync_requested_at,
    resync_news = work.resync_news,
    unknown_since = CASE WHEN is_known THEN NULL ELSE work.unknown_since END,
    cancel_requested_at = CASE WHEN ends_cancel THEN NULL ELSE work.cancel_requested_at END,
    retrying_since = CASE WHEN retrying THEN coalesce(work.retrying_since, moment)
      WHEN NOT retrying THEN NULL ELSE work.retrying_since END,
    consecutive_failures = coalesce(failures, work.consecutive_failures),
    flagged_at = work.flagged_at,
    flag_reason = work.flag_reason
  WHERE refund_id = work.refund_id;
END
$$;
