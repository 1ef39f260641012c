-- DropIndex
DROP INDEX "refund_list";

-- AlterTable
ALTER TABLE "refund" ADD COLUMN     "completed_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "reconciliation_run_account_id_started_at_idx" ON "reconciliation_run"("account_id", "started_at" DESC);

-- CreateIndex
CREATE INDEX "refund_list" ON "refund"("organization_id", "environment", "created_at" DESC, "id" DESC, "status", "processor", "currency", "amount", "initiated_by", "reason", "completed_at");

-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.

-- For what a person has to look at, newest first: few rows at any time, however many refunds there are.
CREATE INDEX "refund_needs_person" ON "refund"("organization_id", "environment", "created_at" DESC, "id" DESC)
    WHERE "status" = 'pending' OR "flagged_at" IS NOT NULL;

-- The same for flags alone, those that have waited longest first.
CREATE INDEX "refund_flagged" ON "refund"("organization_id", "environment", "flagged_at", "id")
    WHERE "flagged_at" IS NOT NULL;

-- The timeline has told so far when a refund was completed.
UPDATE "refund" SET "completed_at" = "event"."created_at"
FROM "refund_event" AS "event"
WHERE "event"."refund_id" = "refund"."id" AND "event"."status" = 'completed' AND "event"."previous_status" = 'processing';
