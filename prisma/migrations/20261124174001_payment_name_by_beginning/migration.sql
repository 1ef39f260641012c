-- The search for the beginning of a payment's id, in whatever collation. Every name is in it; the condition is there because Prisma
-- compares indexes without the class of operators, and leaves partial ones alone.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "payment_name_by_beginning" ON "payment_name"("organization_id", "environment", "name" text_pattern_ops) WHERE "name" IS NOT NULL;
