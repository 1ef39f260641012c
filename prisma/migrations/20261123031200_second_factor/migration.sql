-- The second factor of a person, and organizations that require one.
CREATE TABLE "second_factor" (
    "user_id" TEXT NOT NULL,
    "encrypted_secret" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "last_step" INTEGER NOT NULL,
    "recovery_hashes" BYTEA[],
    "enabled_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "second_factor_pkey" PRIMARY KEY ("user_id")
);

ALTER TABLE "second_factor" ADD CONSTRAINT "second_factor_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "organization" ADD COLUMN "requires_second_factor" BOOLEAN NOT NULL DEFAULT false;
