-- Refunds that completed more than a week after their processor accepted them, for reconciliation: they may fail when they are no
-- longer in the list of what was made lately. Most refunds never have an entry.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "refund_completed_late" ON "refund"("organization_id", "environment", "completed_at", "id")
    WHERE "completed_at" - "accepted_at" > interval '7 days';
