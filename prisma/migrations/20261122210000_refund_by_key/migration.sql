-- CreateIndex
CREATE INDEX "refund_by_key" ON "refund"("api_key_id", "created_at");
