-- The search for an amount. The amount comes first, so that no list can choose this index.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_by_amount" ON "refund"("amount", "organization_id", "environment", "created_at", "id");
