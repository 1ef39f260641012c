-- What is due per account, to count its leases and take its longest due refunds. The table has only open refunds, and no version
-- before this one was released.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "refund_work_due_by_account" ON "refund_work"("processor", "organization_id", "environment", "due_at", "refund_id");
