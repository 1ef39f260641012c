-- The search for the beginning of a payment's id, in whatever collation.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "payment_name_by_beginning" ON "payment_name"("organization_id", "environment", "name" text_pattern_ops);
