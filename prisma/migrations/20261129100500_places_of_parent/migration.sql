-- Connected accounts share the places of their parent, so the claim of what is due goes from one account with credentials to the next.
--
-- No version before this one was released, so none runs meanwhile and no table is large.
-- squawk-ignore-file require-concurrent-index-creation, require-concurrent-index-deletion

ALTER TABLE "refund_work" ADD COLUMN "parent_id" TEXT;
-- allowed: no version before this one was released.
UPDATE "refund_work" AS w SET "parent_id" = a.parent_id FROM "processor_account" AS a
WHERE a.id = w.account_id AND a.parent_id IS NOT NULL;

-- allowed: no version before this one was released.
DROP INDEX "refund_work_due_by_account";
-- Beyond what Prisma can express: the account whose credentials a refund is sent with.
CREATE INDEX "refund_work_due_by_account"
    ON "refund_work"("processor", "organization_id", "environment", (coalesce("parent_id", "account_id")), "due_at", "refund_id");
