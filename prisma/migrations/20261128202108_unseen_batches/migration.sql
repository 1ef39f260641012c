-- The finished batches with rejected rows that no one has seen to, newest first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_batch_unseen" ON "refund_batch"("organization_id", "environment", "completed_at") WHERE "completed_at" IS NOT NULL AND "seen_at" IS NULL AND "rejected_count" > 0;
