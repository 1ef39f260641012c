-- The dashboard lists the events of an account, newest first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "processor_event_by_account" ON "processor_event"("account_id", "received_at", "external_event_id");
