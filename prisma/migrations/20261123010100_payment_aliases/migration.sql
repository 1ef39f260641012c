-- A payment that its processor knows by several ids is held by one row; a row for another of its ids only refers to that one.
ALTER TABLE "payment" ADD COLUMN "alias_of" TEXT;
ALTER TABLE "payment"
    ADD CONSTRAINT "payment_alias_holds_nothing" CHECK (
        alias_of IS NULL OR (alias_of <> transaction_id AND amount IS NULL AND reserved = 0 AND refunded_outside = 0));

-- Until now a refund's payment was the row of the id that its request named. Which rows are the same payment, only the
-- processor knows: each is read again before its next use, and joined then.
UPDATE "payment" SET "fetched_at" = NULL WHERE "fetched_at" IS NOT NULL;
ALTER TABLE "refund" ADD COLUMN "payment_id" TEXT;
UPDATE "refund" SET "payment_id" = "transaction_id";
ALTER TABLE "refund" ALTER COLUMN "payment_id" SET NOT NULL;

DROP INDEX "refund_by_payment";
CREATE INDEX "refund_by_payment" ON "refund"("organization_id", "environment", "processor", "payment_id");

ALTER TABLE "refund" DROP CONSTRAINT "refund_organization_id_environment_processor_transaction_i_fkey";
ALTER TABLE "refund" ADD CONSTRAINT "refund_organization_id_environment_processor_payment_id_fkey" FOREIGN KEY ("organization_id", "environment", "processor", "payment_id") REFERENCES "payment"("organization_id", "environment", "processor", "transaction_id") ON DELETE RESTRICT ON UPDATE CASCADE;
