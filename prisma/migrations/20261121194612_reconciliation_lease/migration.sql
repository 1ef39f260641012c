-- AlterTable
ALTER TABLE "reconciliation_run" ADD COLUMN     "claimed_until" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "reconciliation_finding_refund_id_idx" ON "reconciliation_finding"("refund_id");

-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.

-- One run per account at a time, whatever processes and people try.
CREATE UNIQUE INDEX "reconciliation_run_one_at_a_time" ON "reconciliation_run"("account_id") WHERE finished_at IS NULL;
