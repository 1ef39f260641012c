-- CreateIndex
CREATE INDEX "refund_work_due_by_account" ON "refund_work"("processor", "organization_id", "environment", "due_at", "refund_id");
