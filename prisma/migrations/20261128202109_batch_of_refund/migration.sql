-- The batch of a refund, as of one that has failed.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_batch_row_by_refund" ON "refund_batch_row"("refund_id") WHERE "refund_id" IS NOT NULL;
