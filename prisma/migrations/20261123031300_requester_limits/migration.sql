-- The refunds that people requested, few beside those of API keys, to sum up those of a person.
CREATE INDEX "refund_by_person" ON "refund"("organization_id", "environment", "created_at") WHERE "api_key_id" IS NULL;

-- How long a person and the one who invited them may not approve each other's refunds. Invitations are kept for 90 days.
ALTER TABLE "organization" ADD COLUMN "four_eyes_days" INTEGER NOT NULL DEFAULT 7;
ALTER TABLE "organization" ADD CONSTRAINT "organization_four_eyes_days" CHECK ("four_eyes_days" BETWEEN 0 AND 90);
