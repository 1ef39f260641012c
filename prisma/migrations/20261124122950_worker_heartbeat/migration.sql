-- CreateTable
CREATE TABLE "worker" (
    "id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "worker_pkey" PRIMARY KEY ("id")
);

-- What is being retried, per account: few rows unless a processor is in trouble.
-- The table has only open refunds, and no version before this one was released.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "refund_work_retrying" ON "refund_work"("organization_id", "environment", "processor", "retrying_since")
    WHERE "retrying_since" IS NOT NULL;

-- The accounts whose credentials are refused. The table has a few rows per organization.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "processor_account_misconfigured" ON "processor_account"("processor", "environment")
    WHERE "misconfigured_at" IS NOT NULL;
