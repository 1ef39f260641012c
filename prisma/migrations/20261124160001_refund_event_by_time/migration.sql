-- The events of a day, for its root and its proof.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_event_by_time" ON "refund_event"("created_at") WHERE "hash" IS NOT NULL;
