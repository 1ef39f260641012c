-- AlterTable
ALTER TABLE "webhook_delivery" ADD COLUMN     "leased_until" TIMESTAMPTZ(3);

-- What is due is looked for per endpoint, so that the backlog of one hides nothing of the others.
DROP INDEX "webhook_delivery_due";
CREATE INDEX "webhook_delivery_due" ON "webhook_delivery" ("endpoint_id", "next_attempt_at", "position")
    WHERE "next_attempt_at" IS NOT NULL;
-- The attempts under way, for the limit per endpoint.
CREATE INDEX "webhook_delivery_leased" ON "webhook_delivery" ("endpoint_id") WHERE "leased_until" IS NOT NULL;
