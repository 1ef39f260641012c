-- The search for the beginning of a processor's refund ID, in whatever collation.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_by_processor_refund_beginning" ON "refund"("organization_id", "environment", "external_refund_id" text_pattern_ops) WHERE "external_refund_id" IS NOT NULL;
