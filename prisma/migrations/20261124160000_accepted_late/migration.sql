-- Refunds that were accepted more than a day after their creation, for reconciliation: the others are found by the time of their
-- creation. Most refunds never have an entry.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_accepted_late" ON "refund"("organization_id", "environment", "accepted_at", "id")
    WHERE "accepted_at" - "created_at" > interval '1 day';
