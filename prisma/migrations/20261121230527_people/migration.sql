-- CreateTable
CREATE TABLE "session" (
    "id" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "user_id" TEXT,
    "data" JSONB NOT NULL,
    "user_agent" TEXT,
    "ip" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "lockout" (
    "subject" BYTEA NOT NULL,
    "failures" INTEGER NOT NULL,
    "last_failed_at" TIMESTAMPTZ(3) NOT NULL,
    "locked_until" TIMESTAMPTZ(3),

    CONSTRAINT "lockout_pkey" PRIMARY KEY ("subject")
);

-- CreateTable
CREATE TABLE "invitation" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "role" "role" NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "invited_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "accepted_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "invitation_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "session_hash_key" ON "session"("hash");

-- CreateIndex
CREATE INDEX "session_user_id_idx" ON "session"("user_id");

-- CreateIndex
CREATE INDEX "session_expires_at_idx" ON "session"("expires_at");

-- CreateIndex
CREATE INDEX "lockout_last_failed_at_idx" ON "lockout"("last_failed_at");

-- CreateIndex
CREATE UNIQUE INDEX "invitation_token_hash_key" ON "invitation"("token_hash");

-- CreateIndex
CREATE INDEX "invitation_organization_id_idx" ON "invitation"("organization_id");

-- CreateIndex
CREATE INDEX "invitation_expires_at_idx" ON "invitation"("expires_at");

-- AddForeignKey
ALTER TABLE "session" ADD CONSTRAINT "session_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.

ALTER TABLE "session"
    ADD CONSTRAINT "session_hash_is_sha256" CHECK (octet_length(hash) = 32),
    ADD CONSTRAINT "session_user_agent_length" CHECK (char_length(user_agent) <= 300);

ALTER TABLE "lockout"
    ADD CONSTRAINT "lockout_subject_is_sha256" CHECK (octet_length(subject) = 32),
    ADD CONSTRAINT "lockout_failures_from_one" CHECK (failures >= 1);

ALTER TABLE "invitation"
    ADD CONSTRAINT "invitation_token_hash_is_sha256" CHECK (octet_length(token_hash) = 32),
    ADD CONSTRAINT "invitation_ends_once" CHECK (accepted_at IS NULL OR revoked_at IS NULL);

-- A new invitation of an address replaces the open one, whoever else invites at the same moment.
CREATE UNIQUE INDEX "invitation_one_open_per_address" ON "invitation"("organization_id", "email")
    WHERE accepted_at IS NULL AND revoked_at IS NULL;
