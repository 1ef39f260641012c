-- The search for a word of the metadata, such as the number of an order.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_by_word" ON "refund" USING gin ("metadata_words"("organization_id", "metadata")) WHERE "metadata" IS NOT NULL;
