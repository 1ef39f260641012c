-- CreateTable
CREATE TABLE "recovery" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "generation" TEXT NOT NULL,
    "required_since" TIMESTAMPTZ(3),

    CONSTRAINT "recovery_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "recovery" ADD CONSTRAINT "recovery_one_row" CHECK ("id" = 1);
INSERT INTO "recovery" ("generation") VALUES (gen_random_uuid()::text);

-- A refund that was put back after a restore has a key without the fingerprint of its request.
-- allowed: no version before this one was released, so no installation has a large table or runs it meanwhile.
ALTER TABLE "refund" DROP CONSTRAINT "refund_idempotency_key_has_fingerprint",
    -- As above.
    -- squawk-ignore constraint-missing-not-valid
    ADD CONSTRAINT "refund_fingerprint_has_idempotency_key" CHECK ("fingerprint" IS NULL OR "idempotency_key" IS NOT NULL);

-- Idempotency keys are stored as digests; see shared/platform/request-digest.ts.
CREATE FUNCTION pg_temp.digest_of(organization_id text, environment environment, key text) RETURNS text
LANGUAGE sql AS $$
  SELECT rtrim(translate(encode(sha256(convert_to(
    organization_id || E'\n' || environment::text || E'\n' || key, 'UTF8')), 'base64'), '+/', '-_'), '=')
$$;
-- allowed: no version before this one was released, so no installation has many refunds or writes keys as they were sent.
UPDATE "refund" SET
    "idempotency_key" = pg_temp.digest_of("organization_id", "environment", "idempotency_key"),
    "cancel_key" = pg_temp.digest_of("organization_id", "environment", "cancel_key")
WHERE "idempotency_key" IS NOT NULL OR "cancel_key" IS NOT NULL;
