-- CreateTable
CREATE TABLE "refund_batch" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "actor" TEXT NOT NULL,
    "mode" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "pause_reason" TEXT,
    "idempotency_key" TEXT,
    "fingerprint" BYTEA NOT NULL,
    "row_count" INTEGER NOT NULL,
    "waiting_count" INTEGER NOT NULL,
    "rejected_count" INTEGER NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "refund_batch_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "refund_batch_counts" CHECK (waiting_count >= 0 AND waiting_count + rejected_count <= row_count),
    CONSTRAINT "refund_batch_due" CHECK ((status = 'processing') = (due_at IS NOT NULL))
);

-- CreateTable
CREATE TABLE "refund_batch_row" (
    "batch_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "state" TEXT NOT NULL,
    "transaction_id" TEXT,
    "content" JSONB,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "refund_id" TEXT,
    "error_code" TEXT,
    "error_message" TEXT,

    CONSTRAINT "refund_batch_row_pkey" PRIMARY KEY ("batch_id","number"),
    CONSTRAINT "refund_batch_row_refund" CHECK ((state = 'created') = (refund_id IS NOT NULL)),
    CONSTRAINT "refund_batch_row_content" CHECK ((state = 'waiting') = (content IS NOT NULL))
);

-- CreateIndex
CREATE INDEX "refund_batch_newest" ON "refund_batch"("organization_id", "environment", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "refund_batch_updated_at_idx" ON "refund_batch"("updated_at");

-- CreateIndex
CREATE UNIQUE INDEX "refund_batch_organization_id_environment_idempotency_key_key" ON "refund_batch"("organization_id", "environment", "idempotency_key");

-- What workers look for.
CREATE INDEX "refund_batch_due_at" ON "refund_batch"("due_at") WHERE "due_at" IS NOT NULL;

-- The next rows of a batch: those that were tried less often first.
CREATE INDEX "refund_batch_row_waiting" ON "refund_batch_row"("batch_id", "attempts", "number") WHERE "state" = 'waiting';

-- AddForeignKey
ALTER TABLE "refund_batch_row" ADD CONSTRAINT "refund_batch_row_batch_id_fkey" FOREIGN KEY ("batch_id") REFERENCES "refund_batch"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
