-- A cascade runs with the rights of the tables' owner: with another id, history would move although the service may not change it.
-- DropForeignKey
ALTER TABLE "audit_log" DROP CONSTRAINT "audit_log_organization_id_fkey";

-- DropForeignKey
ALTER TABLE "refund_event" DROP CONSTRAINT "refund_event_refund_id_fkey";

-- AddForeignKey
ALTER TABLE "refund_event" ADD CONSTRAINT "refund_event_refund_id_fkey" FOREIGN KEY ("refund_id") REFERENCES "refund"("id") ON DELETE RESTRICT ON UPDATE RESTRICT;

-- AddForeignKey
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE RESTRICT;
