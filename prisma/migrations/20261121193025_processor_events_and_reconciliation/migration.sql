-- AlterTable
ALTER TABLE "refund" ADD COLUMN     "review_due_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "processor_event" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "external_event_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "refund_id" TEXT,
    "external_refund_id" TEXT,
    "transaction_id" TEXT,
    "received_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "processor_event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "reconciliation_run" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "window_start" TIMESTAMPTZ(3) NOT NULL,
    "window_end" TIMESTAMPTZ(3) NOT NULL,
    "actor" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),
    "failure" TEXT,
    "compared_count" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "reconciliation_run_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "reconciliation_finding" (
    "id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "refund_id" TEXT,
    "transaction_id" TEXT,
    "external_refund_id" TEXT,
    "message" TEXT NOT NULL,

    CONSTRAINT "reconciliation_finding_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "processor_event_received_at_idx" ON "processor_event"("received_at");

-- CreateIndex
CREATE UNIQUE INDEX "processor_event_account_id_external_event_id_key" ON "processor_event"("account_id", "external_event_id");

-- CreateIndex
CREATE INDEX "reconciliation_run_account_id_window_end_idx" ON "reconciliation_run"("account_id", "window_end");

-- CreateIndex
CREATE INDEX "reconciliation_finding_run_id_idx" ON "reconciliation_finding"("run_id");

-- CreateIndex
CREATE INDEX "refund_by_processor_refund" ON "refund"("organization_id", "environment", "processor", "external_refund_id");

-- CreateIndex
CREATE INDEX "refund_reviews" ON "refund"("processor", "review_due_at");

-- AddForeignKey
ALTER TABLE "processor_event" ADD CONSTRAINT "processor_event_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "processor_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reconciliation_run" ADD CONSTRAINT "reconciliation_run_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "processor_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reconciliation_finding" ADD CONSTRAINT "reconciliation_finding_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "reconciliation_run"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.
