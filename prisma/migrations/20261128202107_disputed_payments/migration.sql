-- The disputed payments of an environment, which are few.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "payment_disputed" ON "payment"("organization_id", "environment", "disputed_at") WHERE "disputed_at" IS NOT NULL;
