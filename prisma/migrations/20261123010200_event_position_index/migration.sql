-- The new events of all organizations, for their deliveries. Without it, the feed of every organization that has an endpoint is
-- looked at.
CREATE UNIQUE INDEX "refund_event_all_feeds" ON "refund_event" ("position") WHERE "position" IS NOT NULL;
