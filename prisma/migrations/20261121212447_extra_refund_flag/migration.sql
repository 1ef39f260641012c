-- AlterTable
ALTER TABLE "refund" ADD COLUMN     "extra_refund_id" TEXT;

-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.
ALTER TABLE "refund" ADD CONSTRAINT "refund_extra_refund_is_flagged"
  CHECK ("extra_refund_id" IS NULL OR "flagged_at" IS NOT NULL);

-- Reconciliation has raised such flags before, in the words of its finding.
UPDATE "refund" SET "extra_refund_id" = "finding"."external_refund_id"
FROM "reconciliation_finding" AS "finding"
WHERE "finding"."kind" = 'extra_refund' AND "finding"."refund_id" = "refund"."id"
  AND "refund"."flagged_at" IS NOT NULL AND "refund"."flag_reason" = "finding"."message";
