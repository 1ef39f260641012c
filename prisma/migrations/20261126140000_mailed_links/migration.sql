-- Links that were mailed: invitations and password resets.
CREATE TABLE "mailed_link" (
    "token_hash" BYTEA NOT NULL,
    "target" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "mailed_link_pkey" PRIMARY KEY ("token_hash")
);

-- A used password reset ends the others of the user.
CREATE INDEX "mailed_link_target_idx" ON "mailed_link"("target");

-- Retention.
CREATE INDEX "mailed_link_expires_at_idx" ON "mailed_link"("expires_at");
