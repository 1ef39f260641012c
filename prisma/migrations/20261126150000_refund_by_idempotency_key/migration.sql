-- The key first, so that a lookup by it can compare the owner as no index can: by the statistics of an empty table the list of an
-- owner's refunds costs the same, and a kept plan may read it to its end.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "refund_by_idempotency_key" ON "refund"("idempotency_key", "organization_id", "environment") WHERE "idempotency_key" IS NOT NULL;
