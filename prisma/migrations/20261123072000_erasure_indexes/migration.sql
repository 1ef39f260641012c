-- An erasure of personal data finds by key what belongs to a refund or to an address, however large the tables are.
CREATE INDEX "audit_log_organization_id_target_idx" ON "audit_log"("organization_id", "target");

-- Partial, so other entries cost nothing.
CREATE INDEX "audit_log_of_exports" ON "audit_log"("organization_id")
    WHERE "action" IN ('refunds.export_started', 'refunds.exported');
CREATE INDEX "audit_log_by_email" ON "audit_log"(("detail"->>'email')) WHERE "detail"->>'email' IS NOT NULL;

CREATE INDEX "processor_event_by_refund" ON "processor_event"("refund_id") WHERE "refund_id" IS NOT NULL;
CREATE INDEX "processor_event_by_processor_refund" ON "processor_event"("external_refund_id")
    WHERE "external_refund_id" IS NOT NULL;
CREATE INDEX "processor_event_by_payment" ON "processor_event"("transaction_id") WHERE "transaction_id" IS NOT NULL;

-- The other ids of a payment, by which processors name it.
CREATE INDEX "payment_by_holder" ON "payment"("alias_of") WHERE "alias_of" IS NOT NULL;
