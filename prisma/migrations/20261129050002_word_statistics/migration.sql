-- How often each word of metadata occurs, for the same reason as "refund_metadata_terms".
CREATE STATISTICS IF NOT EXISTS "refund_metadata_words" ON ("metadata_words"("organization_id", "metadata")) FROM "refund";
