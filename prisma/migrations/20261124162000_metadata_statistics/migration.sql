-- How often each value of metadata occurs. The planner does not take that from a partial index: without, it expects each value in one
-- of 200 refunds, and searches a long list for a rare one instead of the index. ANALYZE, also that of autovacuum, collects it.
CREATE STATISTICS IF NOT EXISTS "refund_metadata_terms" ON ("metadata_terms"("organization_id", "metadata")) FROM "refund";
