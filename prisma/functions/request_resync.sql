-- Has a refund read again from its processor as soon as a worker can, whatever its status, because something says that there
-- is news of it. The request is kept until a worker has read the refund after it; asking twice is asking once.
-- news: the processor's id and status of the refund as the news has them; null when it has to be read in any case.
-- Answers false for a refund that awaits approval: it has never been at the processor.
CREATE OR REPLACE FUNCTION request_resync(asked_id text, news text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
BEGIN
  INSERT INTO refund_work AS w (
    refund_id, organization_id, environment, processor, due_at, resync_requested_at, resync_news)
  SELECT id, organization_id, environment, processor, moment, moment, news FROM refund
  WHERE id = asked_id AND status <> 'pending'
  ON CONFLICT (refund_id) DO UPDATE SET
    due_at = LEAST(w.due_at, moment),
    -- During a lease it says that a request to cancel has arrived.
    enqueued_at = CASE WHEN w.leased_until > moment THEN w.enqueued_at END,
    resync_news = CASE
      WHEN w.resync_requested_at IS NULL OR w.resync_news = news THEN news END,
    resync_requested_at = moment;
  RETURN FOUND;
END
$$;
