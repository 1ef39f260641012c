-- CreateEnum
CREATE TYPE "environment" AS ENUM ('live', 'test');

-- CreateEnum
CREATE TYPE "role" AS ENUM ('owner', 'admin', 'operator', 'viewer');

-- CreateEnum
CREATE TYPE "refund_status" AS ENUM ('pending', 'processing', 'completed', 'failed', 'cancelled');

-- CreateEnum
CREATE TYPE "refund_reason" AS ENUM ('product_not_received', 'product_defective', 'wrong_product', 'duplicate_charge', 'subscription_cancelled', 'other');

-- CreateEnum
CREATE TYPE "initiated_by" AS ENUM ('api', 'dashboard', 'mcp');

-- CreateEnum
CREATE TYPE "submission_outcome" AS ENUM ('none', 'unavailable', 'unknown', 'accepted', 'rejected', 'misconfigured');

-- CreateTable
CREATE TABLE "organization" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "organization_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "user" (
    "id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "user_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "membership" (
    "organization_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "role" "role" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "membership_pkey" PRIMARY KEY ("organization_id","user_id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "hash" BYTEA NOT NULL,
    "last_four" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "processor_account" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "processor" TEXT NOT NULL,
    "encrypted_credentials" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "misconfigured_at" TIMESTAMPTZ(3),
    "throttled_until" TIMESTAMPTZ(3),

    CONSTRAINT "processor_account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "transaction" (
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "processor" TEXT NOT NULL,
    "transaction_id" TEXT NOT NULL,
    "amount" BIGINT,
    "currency" CHAR(3),
    "charged_at" TIMESTAMPTZ(3),
    "refunded_outside" BIGINT NOT NULL DEFAULT 0,
    "reserved" BIGINT NOT NULL DEFAULT 0,
    "fetched_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "transaction_pkey" PRIMARY KEY ("organization_id","environment","processor","transaction_id")
);

-- CreateTable
CREATE TABLE "refund" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "external_refund_id" TEXT,
    "transaction_id" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "currency" CHAR(3) NOT NULL,
    "reason" "refund_reason" NOT NULL,
    "status" "refund_status" NOT NULL,
    "processor" TEXT NOT NULL,
    "metadata" JSONB,
    "initiated_by" "initiated_by" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "environment" "environment" NOT NULL,
    "api_key_id" TEXT,
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "key_series" INTEGER NOT NULL DEFAULT 1,
    "last_outcome" "submission_outcome" NOT NULL DEFAULT 'none',
    "last_sent_at" TIMESTAMPTZ(3),
    "unknown_since" TIMESTAMPTZ(3),
    "attempt_answered" BOOLEAN NOT NULL DEFAULT false,
    "attempt_ended_at" TIMESTAMPTZ(3),
    "retrying_since" TIMESTAMPTZ(3),
    "fruitless_count" INTEGER NOT NULL DEFAULT 0,
    "claimed_until" TIMESTAMPTZ(3),
    "fencing_token" INTEGER NOT NULL DEFAULT 0,
    "next_action_at" TIMESTAMPTZ(3),
    "woken_at" TIMESTAMPTZ(3),
    "cancel_requested_at" TIMESTAMPTZ(3),
    "accepted_at" TIMESTAMPTZ(3),
    "processor_status" TEXT,
    "failure_code" TEXT,
    "failure_message" TEXT,
    "flagged_at" TIMESTAMPTZ(3),
    "flag_reason" TEXT,

    CONSTRAINT "refund_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refund_event" (
    "id" TEXT NOT NULL,
    "refund_id" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "previous_status" "refund_status",
    "status" "refund_status" NOT NULL,
    "detail" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refund_event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "refund_id" TEXT,
    "locked_until" TIMESTAMPTZ(3),
    "status_code" INTEGER,
    "body" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "answered_at" TIMESTAMPTZ(3),

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("organization_id","environment","key")
);

-- CreateTable
CREATE TABLE "policy" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "priority" INTEGER NOT NULL,
    "rules" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_log" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "detail" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "user_email_key" ON "user"("email");

-- CreateIndex
CREATE INDEX "membership_user_id_idx" ON "membership"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");

-- CreateIndex
CREATE INDEX "api_key_organization_id_environment_idx" ON "api_key"("organization_id", "environment");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_id_organization_id_environment_key" ON "api_key"("id", "organization_id", "environment");

-- CreateIndex
CREATE UNIQUE INDEX "processor_account_organization_id_environment_processor_key" ON "processor_account"("organization_id", "environment", "processor");

-- CreateIndex
CREATE INDEX "refund_list" ON "refund"("organization_id", "environment", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "refund_list_by_status" ON "refund"("organization_id", "environment", "status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "refund_list_by_processor" ON "refund"("organization_id", "environment", "processor", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "refund_ledger" ON "refund"("organization_id", "environment", "processor", "transaction_id");

-- CreateIndex
CREATE INDEX "refund_sweep" ON "refund"("processor", "next_action_at");

-- CreateIndex
CREATE UNIQUE INDEX "refund_event_refund_id_seq_key" ON "refund_event"("refund_id", "seq");

-- CreateIndex
CREATE INDEX "idempotency_key_answered_at_idx" ON "idempotency_key"("answered_at");

-- CreateIndex
CREATE INDEX "idempotency_key_locked_until_idx" ON "idempotency_key"("locked_until");

-- CreateIndex
CREATE INDEX "policy_organization_id_priority_idx" ON "policy"("organization_id", "priority");

-- CreateIndex
CREATE UNIQUE INDEX "policy_organization_id_name_key" ON "policy"("organization_id", "name");

-- CreateIndex
CREATE INDEX "audit_log_organization_id_created_at_idx" ON "audit_log"("organization_id", "created_at" DESC);

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "processor_account" ADD CONSTRAINT "processor_account_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "transaction" ADD CONSTRAINT "transaction_organization_id_environment_processor_fkey" FOREIGN KEY ("organization_id", "environment", "processor") REFERENCES "processor_account"("organization_id", "environment", "processor") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refund" ADD CONSTRAINT "refund_organization_id_environment_processor_transaction_i_fkey" FOREIGN KEY ("organization_id", "environment", "processor", "transaction_id") REFERENCES "transaction"("organization_id", "environment", "processor", "transaction_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refund" ADD CONSTRAINT "refund_api_key_id_organization_id_environment_fkey" FOREIGN KEY ("api_key_id", "organization_id", "environment") REFERENCES "api_key"("id", "organization_id", "environment") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "refund_event" ADD CONSTRAINT "refund_event_refund_id_fkey" FOREIGN KEY ("refund_id") REFERENCES "refund"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "policy" ADD CONSTRAINT "policy_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.

-- The last line of defence: code that is wrong fails here instead of moving money twice or forgetting it.

-- Our refunds and those made elsewhere never add up to more than was paid.
ALTER TABLE "transaction"
    ADD CONSTRAINT "transaction_amount_positive" CHECK (amount > 0),
    ADD CONSTRAINT "transaction_reserved_not_negative" CHECK (reserved >= 0),
    ADD CONSTRAINT "transaction_refunded_outside_not_negative" CHECK (refunded_outside >= 0),
    ADD CONSTRAINT "transaction_not_over_refunded" CHECK (reserved + refunded_outside <= amount),
    ADD CONSTRAINT "transaction_currency_three_lowercase_letters" CHECK (currency ~ '^[a-z]{3}$'),
    -- Both are unknown until the processor has answered; every check above lets an unknown amount pass.
    ADD CONSTRAINT "transaction_amount_with_currency" CHECK ((amount IS NULL) = (currency IS NULL));

ALTER TABLE "refund"
    ADD CONSTRAINT "refund_id_is_refund_typeid" CHECK (id ~ '^ref_[a-z0-9]+$'),
    ADD CONSTRAINT "refund_amount_positive" CHECK (amount > 0),
    ADD CONSTRAINT "refund_currency_three_lowercase_letters" CHECK (currency ~ '^[a-z]{3}$'),
    ADD CONSTRAINT "refund_attempt_count_not_negative" CHECK (attempt_count >= 0),
    ADD CONSTRAINT "refund_key_series_from_one" CHECK (key_series >= 1),
    ADD CONSTRAINT "refund_fencing_token_not_negative" CHECK (fencing_token >= 0),
    -- A refund in processing is always due at some time, so the sweep finds it whatever becomes of the queue; one that
    -- waits for a human or has ended is never due.
    ADD CONSTRAINT "refund_due_while_processing" CHECK ((status = 'processing') = (next_action_at IS NOT NULL)),
    ADD CONSTRAINT "refund_pending_never_sent" CHECK (status <> 'pending' OR attempt_count = 0),
    ADD CONSTRAINT "refund_completed_names_processor_refund" CHECK (status <> 'completed' OR external_refund_id IS NOT NULL),
    ADD CONSTRAINT "refund_failed_says_why" CHECK (status <> 'failed' OR failure_code IS NOT NULL);

ALTER TABLE "refund_event"
    ADD CONSTRAINT "refund_event_seq_from_one" CHECK (seq >= 1);

ALTER TABLE "api_key"
    ADD CONSTRAINT "api_key_hash_is_sha256" CHECK (octet_length(hash) = 32),
    ADD CONSTRAINT "api_key_last_four_is_four" CHECK (char_length(last_four) = 4);

ALTER TABLE "idempotency_key"
    ADD CONSTRAINT "idempotency_key_length" CHECK (char_length(key) BETWEEN 1 AND 255),
    ADD CONSTRAINT "idempotency_key_answer_whole" CHECK ((status_code IS NULL) = (body IS NULL));

-- History is only ever added to. The trigger fires once per statement, so it refuses even one that matches no row.
CREATE FUNCTION refuse_change_of_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END;
$$;

CREATE TRIGGER "refund_event_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "refund_event"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_history();

CREATE TRIGGER "audit_log_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_log"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_history();
