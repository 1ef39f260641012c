-- Requests with an API key that were refused or failed, kept for a week. A new table, so that nothing is locked.
CREATE TABLE "failed_request" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "code" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "body" TEXT,
    "refund_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "failed_request_pkey" PRIMARY KEY ("id")
);

-- The list of an environment, and what it has stored today.
CREATE INDEX "failed_request_organization_id_environment_created_at_id_idx" ON "failed_request"("organization_id", "environment", "created_at", "id");

-- Retention.
CREATE INDEX "failed_request_created_at_idx" ON "failed_request"("created_at");
