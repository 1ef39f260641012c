-- The search for an amount.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_by_amount" ON "refund"("organization_id", "environment", "amount", "created_at", "id");
