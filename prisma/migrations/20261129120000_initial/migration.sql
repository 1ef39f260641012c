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
CREATE TYPE "webhook_endpoint_status" AS ENUM ('enabled', 'disabled');

-- CreateEnum
CREATE TYPE "webhook_delivery_status" AS ENUM ('pending', 'succeeded', 'failed');

-- CreateTable
CREATE TABLE "organization" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "requires_second_factor" BOOLEAN NOT NULL DEFAULT false,
    "four_eyes_days" INTEGER NOT NULL DEFAULT 7,
    "refund_columns" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "confirms_hourly" BOOLEAN NOT NULL DEFAULT false,
    "customer_texts" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "organization_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "user" (
    "id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),
    "company_of" TEXT NOT NULL DEFAULT '',
    "mail_refused_at" TIMESTAMPTZ(3),
    "single_keys" BOOLEAN NOT NULL DEFAULT true,

    CONSTRAINT "user_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "second_factor" (
    "user_id" TEXT NOT NULL,
    "encrypted_secret" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "last_step" INTEGER NOT NULL,
    "recovery_hashes" BYTEA[],
    "enabled_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "second_factor_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "session" (
    "id" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "user_id" TEXT NOT NULL,
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
    "accepted_by" TEXT,
    "revoked_at" TIMESTAMPTZ(3),
    "mail_refused_at" TIMESTAMPTZ(3),

    CONSTRAINT "invitation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "membership" (
    "organization_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "role" "role" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "declined_mails" TEXT[] DEFAULT ARRAY[]::TEXT[],

    CONSTRAINT "membership_pkey" PRIMARY KEY ("organization_id","user_id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "hash" BYTEA NOT NULL,
    "last_four" TEXT NOT NULL,
    "name" TEXT NOT NULL DEFAULT '',
    "scopes" TEXT[] DEFAULT ARRAY['refunds:read', 'refunds:write', 'policies:read']::TEXT[],
    "agent_limits" JSONB,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "stopped_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "api_version" TEXT NOT NULL DEFAULT '2026-11-24',
    "first_tool" TEXT,
    "first_tool_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "processor_account" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "processor" TEXT NOT NULL,
    "encrypted_credentials" BYTEA,
    "encryption_key_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "misconfigured_at" TIMESTAMPTZ(3),
    "sent_metadata_keys" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "abilities" JSONB NOT NULL DEFAULT '{}',
    "worked_at" TIMESTAMPTZ(3),
    "calls_per_second" INTEGER,
    "rate_limits" JSONB NOT NULL DEFAULT '{}',
    "name" TEXT NOT NULL,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "parent_id" TEXT,
    "connected_account" TEXT,
    "used_at" TIMESTAMPTZ(3),
    "transfers" TEXT NOT NULL DEFAULT 'keep',
    "application_fees" TEXT NOT NULL DEFAULT 'keep',
    "external_account_id" TEXT,

    CONSTRAINT "processor_account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "processor_event" (
    "account_id" TEXT NOT NULL,
    "external_event_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "refund_id" TEXT,
    "external_refund_id" TEXT,
    "processor_status" TEXT,
    "received_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "processor_event_pkey" PRIMARY KEY ("account_id","external_event_id")
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
    "claimed_until" TIMESTAMPTZ(3),
    "puts_back" BOOLEAN NOT NULL DEFAULT false,

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
    "facts" JSONB NOT NULL,

    CONSTRAINT "reconciliation_finding_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payment" (
    "id" BIGSERIAL NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "amount" BIGINT,
    "currency" CHAR(3),
    "charged_at" TIMESTAMPTZ(3),
    "refunded_outside" BIGINT NOT NULL DEFAULT 0,
    "reserved" BIGINT NOT NULL DEFAULT 0,
    "fetched_at" TIMESTAMPTZ(3),
    "stale_since" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disputed_at" TIMESTAMPTZ(3),
    "account_id" TEXT NOT NULL,
    "has_transfer" BOOLEAN,
    "transfer_destination" TEXT,
    "has_application_fee" BOOLEAN,
    "external_id" TEXT,

    CONSTRAINT "payment_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payment_name" (
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "name" TEXT NOT NULL,
    "payment_id" BIGINT NOT NULL,
    "account_id" TEXT NOT NULL,

    CONSTRAINT "payment_name_pkey" PRIMARY KEY ("account_id","name")
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
    "payment_id" BIGINT NOT NULL,
    "requester" TEXT NOT NULL,
    "api_key_id" TEXT,
    "idempotency_key" TEXT,
    "fingerprint" BYTEA,
    "cancel_key" TEXT,
    "processor_status" TEXT,
    "failure_code" TEXT,
    "failure_message" TEXT,
    "accepted_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),
    "arrival" JSONB,
    "held_until" TIMESTAMPTZ(3),
    -- The one definition of the refunds whose amount counts against what can still be refunded.
    "is_live" BOOLEAN NOT NULL GENERATED ALWAYS AS ("status" IN ('pending', 'processing', 'completed')) STORED,
    "account_id" TEXT NOT NULL,
    "is_connected" BOOLEAN NOT NULL DEFAULT false,
    "options" JSONB,

    CONSTRAINT "refund_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refund_work" (
    "refund_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "processor" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "leased_until" TIMESTAMPTZ(3),
    "lease_token" BIGINT,
    "attempt_number" INTEGER NOT NULL DEFAULT 0,
    "attempt_started_at" TIMESTAMPTZ(3),
    "idempotency_key_version" INTEGER NOT NULL DEFAULT 1,
    "is_key_spent" BOOLEAN NOT NULL DEFAULT false,
    "unknown_since" TIMESTAMPTZ(3),
    "resync_requested_at" TIMESTAMPTZ(3),
    "cancel_requested_at" TIMESTAMPTZ(3),
    "retrying_since" TIMESTAMPTZ(3),
    "consecutive_failures" INTEGER NOT NULL DEFAULT 0,
    "flagged_at" TIMESTAMPTZ(3),
    "flag_reason" TEXT,
    "flag_facts" JSONB NOT NULL DEFAULT '{}',
    "sent_metadata" JSONB,
    "waiting_for" TEXT,
    "waiting_since" TIMESTAMPTZ(3),
    "approval_requested_at" TIMESTAMPTZ(3),
    "waiting_until" TIMESTAMPTZ(3),
    "server_error_at" TIMESTAMPTZ(3),
    "key_used_at" TIMESTAMPTZ(3),
    "account_id" TEXT NOT NULL,
    "parent_id" TEXT,

    CONSTRAINT "refund_work_pkey" PRIMARY KEY ("refund_id")
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
    "organization_id" TEXT,
    "environment" "environment",
    "position" BIGINT,
    "external_refund_id" TEXT,
    "failure_code" TEXT,
    "failure_message" TEXT,
    "hash" BYTEA,
    "words_salt" BYTEA,
    "words_digest" BYTEA,

    CONSTRAINT "refund_event_pkey" PRIMARY KEY ("refund_id","seq")
);

-- CreateTable
CREATE TABLE "webhook_endpoint" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "url" TEXT NOT NULL,
    "events" TEXT[],
    "description" TEXT,
    "status" "webhook_endpoint_status" NOT NULL DEFAULT 'enabled',
    "disabled_reason" TEXT,
    "encrypted_secret" BYTEA NOT NULL,
    "encrypted_previous_secret" BYTEA,
    "previous_secret_expires_at" TIMESTAMPTZ(3),
    "encryption_key_id" TEXT NOT NULL,
    "failing_since" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),
    "created_by" TEXT,

    CONSTRAINT "webhook_endpoint_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_delivery" (
    "id" TEXT NOT NULL,
    "endpoint_id" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "refund_id" TEXT,
    "position" BIGINT,
    "status" "webhook_delivery_status" NOT NULL DEFAULT 'pending',
    "next_attempt_at" TIMESTAMPTZ(3),
    "leased_until" TIMESTAMPTZ(3),
    "attempts" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_cursor" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "position" BIGINT NOT NULL,

    CONSTRAINT "webhook_cursor_pkey" PRIMARY KEY ("id")
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

-- CreateTable
CREATE TABLE "worker" (
    "id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "worker_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "recovery" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "generation" TEXT NOT NULL,
    "required_since" TIMESTAMPTZ(3),
    "began_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "recovery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "timeline_root" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "day" DATE NOT NULL,
    "event_count" INTEGER NOT NULL,
    "root" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "timeline_root_pkey" PRIMARY KEY ("id")
);

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
    "seen_at" TIMESTAMPTZ(3),

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

-- CreateTable
CREATE TABLE "notification" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "recipient" TEXT NOT NULL,
    "organization_id" TEXT,
    "environment" "environment",
    "due_at" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "message_id" TEXT,
    "sent_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "notification_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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

-- CreateTable
CREATE TABLE "notification_channel" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "encrypted_url" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "failing_since" TIMESTAMPTZ(3),
    "gone_at" TIMESTAMPTZ(3),

    CONSTRAINT "notification_channel_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "identity_provider" (
    "organization_id" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "encrypted_client_secret" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "role_claim" TEXT NOT NULL,
    "roles" JSONB NOT NULL,
    "disabled_at" TIMESTAMPTZ(3),
    "is_enforced" BOOLEAN NOT NULL DEFAULT false,
    "owner_signed_in_at" TIMESTAMPTZ(3),
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "scopes" TEXT NOT NULL DEFAULT 'openid email profile',
    "accepts_unverified" BOOLEAN NOT NULL DEFAULT false,
    "tells_sign_in_time" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "identity_provider_pkey" PRIMARY KEY ("organization_id")
);

-- CreateTable
CREATE TABLE "company_account" (
    "organization_id" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "company_account_pkey" PRIMARY KEY ("organization_id", "issuer", "subject")
);

-- CreateTable
CREATE TABLE "mailed_link" (
    "token_hash" BYTEA NOT NULL,
    "target" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "mailed_link_pkey" PRIMARY KEY ("token_hash")
);

-- CreateTable
-- How many calls workers have made lately, per operation of an account. A crash of PostgreSQL empties it, which costs nothing but a burst.
CREATE UNLOGGED TABLE "operation_calls" (
    "account_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "spent_until" TIMESTAMPTZ(6) NOT NULL,
    "granted" INTEGER NOT NULL,

    CONSTRAINT "operation_calls_pkey" PRIMARY KEY ("account_id","operation")
);

-- CreateIndex
CREATE UNIQUE INDEX "user_email_company_of_key" ON "user"("email", "company_of");

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

-- CreateIndex
CREATE INDEX "membership_user_id_idx" ON "membership"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");

-- CreateIndex
CREATE INDEX "api_key_organization_id_environment_idx" ON "api_key"("organization_id", "environment");

-- CreateIndex
CREATE INDEX "api_key_by_creator" ON "api_key"("created_by");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_id_organization_id_environment_key" ON "api_key"("id", "organization_id", "environment");

-- CreateIndex
CREATE UNIQUE INDEX "processor_account_organization_id_environment_processor_nam_key" ON "processor_account"("organization_id", "environment", "processor", "name");

-- CreateIndex
CREATE UNIQUE INDEX "processor_account_parent_id_connected_account_key" ON "processor_account"("parent_id", "connected_account");

-- CreateIndex
CREATE UNIQUE INDEX "processor_account_id_organization_id_environment_key" ON "processor_account"("id", "organization_id", "environment");

-- CreateIndex
CREATE INDEX "processor_event_received_at_idx" ON "processor_event"("received_at");

-- CreateIndex
CREATE INDEX "processor_event_by_account" ON "processor_event"("account_id", "received_at", "external_event_id");

-- CreateIndex
CREATE INDEX "reconciliation_run_account_id_window_end_idx" ON "reconciliation_run"("account_id", "window_end");

-- CreateIndex
CREATE INDEX "reconciliation_run_account_id_started_at_idx" ON "reconciliation_run"("account_id", "started_at" DESC);

-- CreateIndex
CREATE INDEX "reconciliation_finding_run_id_idx" ON "reconciliation_finding"("run_id");

-- CreateIndex
CREATE INDEX "reconciliation_finding_refund_id_idx" ON "reconciliation_finding"("refund_id");

-- CreateIndex
CREATE UNIQUE INDEX "payment_id_account_id_organization_id_environment_key" ON "payment"("id", "account_id", "organization_id", "environment");

-- CreateIndex
CREATE INDEX "payment_name_by_payment" ON "payment_name"("payment_id");

-- CreateIndex
CREATE INDEX "refund_list" ON "refund"("organization_id", "environment", "created_at", "id");

-- CreateIndex
CREATE INDEX "refund_by_payment" ON "refund"("payment_id");

-- CreateIndex
CREATE INDEX "refund_by_requester" ON "refund"("requester", "created_at");

-- CreateIndex
CREATE INDEX "refund_by_amount" ON "refund"("amount", "organization_id", "environment", "created_at", "id");

-- CreateIndex
CREATE INDEX "refund_work_due" ON "refund_work"("processor", "due_at");

-- CreateIndex
CREATE INDEX "webhook_endpoint_organization_id_environment_idx" ON "webhook_endpoint"("organization_id", "environment");

-- CreateIndex
CREATE INDEX "webhook_delivery_endpoint_id_created_at_id_idx" ON "webhook_delivery"("endpoint_id", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_delivery_refund_id_endpoint_id_position_key" ON "webhook_delivery"("refund_id", "endpoint_id", "position");

-- CreateIndex
CREATE INDEX "policy_organization_id_priority_idx" ON "policy"("organization_id", "priority");

-- CreateIndex
CREATE UNIQUE INDEX "policy_organization_id_name_key" ON "policy"("organization_id", "name");

-- CreateIndex
CREATE INDEX "audit_log_organization_id_created_at_idx" ON "audit_log"("organization_id", "created_at" DESC);

-- CreateIndex
CREATE INDEX "audit_log_organization_id_target_idx" ON "audit_log"("organization_id", "target");

-- CreateIndex
CREATE INDEX "timeline_root_day_idx" ON "timeline_root"("day");

-- CreateIndex
CREATE UNIQUE INDEX "timeline_root_organization_id_environment_day_key" ON "timeline_root"("organization_id", "environment", "day");

-- CreateIndex
CREATE INDEX "refund_batch_newest" ON "refund_batch"("organization_id", "environment", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "refund_batch_updated_at_idx" ON "refund_batch"("updated_at");

-- CreateIndex
CREATE UNIQUE INDEX "refund_batch_organization_id_environment_idempotency_key_key" ON "refund_batch"("organization_id", "environment", "idempotency_key");

-- CreateIndex
CREATE UNIQUE INDEX "notification_once" ON "notification"("kind", "target", "since", "recipient");

-- CreateIndex
CREATE INDEX "notification_created_at_idx" ON "notification"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "notification_channel_organization_id_environment_key" ON "notification_channel"("organization_id", "environment");

-- CreateIndex
CREATE INDEX "company_account_user_id_organization_id_idx" ON "company_account"("user_id", "organization_id");

-- CreateIndex
CREATE INDEX "mailed_link_target_idx" ON "mailed_link"("target");

-- CreateIndex
CREATE INDEX "mailed_link_expires_at_idx" ON "mailed_link"("expires_at");

-- CreateIndex
CREATE INDEX "failed_request_organization_id_environment_created_at_id_idx" ON "failed_request"("organization_id", "environment", "created_at", "id");

-- CreateIndex
CREATE INDEX "failed_request_created_at_idx" ON "failed_request"("created_at");

-- AddForeignKey
ALTER TABLE "second_factor" ADD CONSTRAINT "second_factor_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "session" ADD CONSTRAINT "session_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "processor_account" ADD CONSTRAINT "processor_account_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "processor_account" ADD CONSTRAINT "processor_account_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "processor_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "processor_event" ADD CONSTRAINT "processor_event_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "processor_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reconciliation_run" ADD CONSTRAINT "reconciliation_run_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "processor_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reconciliation_finding" ADD CONSTRAINT "reconciliation_finding_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "reconciliation_run"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payment" ADD CONSTRAINT "payment_account_id_organization_id_environment_fkey" FOREIGN KEY ("account_id", "organization_id", "environment") REFERENCES "processor_account"("id", "organization_id", "environment") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payment_name" ADD CONSTRAINT "payment_name_payment_id_account_id_organization_id_environ_fkey" FOREIGN KEY ("payment_id", "account_id", "organization_id", "environment") REFERENCES "payment"("id", "account_id", "organization_id", "environment") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refund" ADD CONSTRAINT "refund_payment_id_account_id_organization_id_environment_fkey" FOREIGN KEY ("payment_id", "account_id", "organization_id", "environment") REFERENCES "payment"("id", "account_id", "organization_id", "environment") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refund" ADD CONSTRAINT "refund_api_key_id_organization_id_environment_fkey" FOREIGN KEY ("api_key_id", "organization_id", "environment") REFERENCES "api_key"("id", "organization_id", "environment") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "refund_work" ADD CONSTRAINT "refund_work_refund_id_fkey" FOREIGN KEY ("refund_id") REFERENCES "refund"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refund_event" ADD CONSTRAINT "refund_event_refund_id_fkey" FOREIGN KEY ("refund_id") REFERENCES "refund"("id") ON DELETE RESTRICT ON UPDATE RESTRICT;

-- AddForeignKey
ALTER TABLE "webhook_endpoint" ADD CONSTRAINT "webhook_endpoint_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoint"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "policy" ADD CONSTRAINT "policy_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE RESTRICT;

-- AddForeignKey
ALTER TABLE "refund_batch_row" ADD CONSTRAINT "refund_batch_row_batch_id_fkey" FOREIGN KEY ("batch_id") REFERENCES "refund_batch"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "notification_channel" ADD CONSTRAINT "notification_channel_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "identity_provider" ADD CONSTRAINT "identity_provider_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "company_account" ADD CONSTRAINT "company_account_organization_id_user_id_fkey" FOREIGN KEY ("organization_id", "user_id") REFERENCES "membership"("organization_id", "user_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The last line of defence: a bug fails here instead of moving money twice or losing a refund.

-- Our refunds and those made elsewhere never add up to more than was paid.
ALTER TABLE "payment"
    ADD CONSTRAINT "payment_amount_positive" CHECK (amount > 0),
    ADD CONSTRAINT "payment_reserved_not_negative" CHECK (reserved >= 0),
    ADD CONSTRAINT "payment_refunded_outside_not_negative" CHECK (refunded_outside >= 0),
    ADD CONSTRAINT "payment_not_over_refunded" CHECK (reserved + refunded_outside <= amount),
    ADD CONSTRAINT "payment_currency_three_lowercase_letters" CHECK (currency ~ '^[a-z]{3}$'),
    -- Both are unknown until the processor has answered; every check above lets an unknown amount pass.
    ADD CONSTRAINT "payment_amount_with_currency" CHECK ((amount IS NULL) = (currency IS NULL));

ALTER TABLE "refund"
    ADD CONSTRAINT "refund_id_is_refund_typeid" CHECK (id ~ '^ref_[a-z0-9]+$'),
    ADD CONSTRAINT "refund_amount_positive" CHECK (amount > 0),
    ADD CONSTRAINT "refund_currency_three_lowercase_letters" CHECK (currency ~ '^[a-z]{3}$'),
    ADD CONSTRAINT "refund_completed_names_processor_refund" CHECK (status <> 'completed' OR external_refund_id IS NOT NULL),
    ADD CONSTRAINT "refund_failed_says_why" CHECK (status <> 'failed' OR failure_code IS NOT NULL),
    ADD CONSTRAINT "refund_idempotency_key_length" CHECK (char_length(idempotency_key) BETWEEN 1 AND 255),
    -- A refund that was put back after a restore has a key without the fingerprint of its request.
    ADD CONSTRAINT "refund_fingerprint_has_idempotency_key" CHECK (fingerprint IS NULL OR idempotency_key IS NOT NULL),
    ADD CONSTRAINT "refund_fingerprint_is_sha256" CHECK (octet_length(fingerprint) = 32);

ALTER TABLE "refund_work"
    ADD CONSTRAINT "refund_work_is_due_or_flagged" CHECK (due_at IS NOT NULL OR flagged_at IS NOT NULL),
    ADD CONSTRAINT "refund_work_flag_says_why" CHECK ((flagged_at IS NULL) = (flag_reason IS NULL)),
    ADD CONSTRAINT "refund_work_facts_need_flag" CHECK (flagged_at IS NOT NULL OR flag_facts = '{}'),
    ADD CONSTRAINT "refund_work_lease_has_token" CHECK (leased_until IS NULL OR lease_token IS NOT NULL),
    ADD CONSTRAINT "refund_work_attempts_not_negative" CHECK (attempt_number >= 0),
    ADD CONSTRAINT "refund_work_idempotency_key_version_from_one" CHECK (idempotency_key_version >= 1),
    -- Without an outcome in the timeline, the processor may have what was sent.
    ADD CONSTRAINT "refund_work_open_attempt_is_unknown" CHECK (
        attempt_started_at IS NULL OR attempt_number > 0 AND unknown_since IS NOT NULL),
    ADD CONSTRAINT "refund_work_failures_not_negative" CHECK (consecutive_failures >= 0);

ALTER TABLE "refund_event"
    ADD CONSTRAINT "refund_event_seq_from_one" CHECK (seq >= 1),
    -- The rule of is_public_event.
    ADD CONSTRAINT "refund_event_public_in_feed" CHECK (
        num_nulls("organization_id", "environment", "position")
            = CASE WHEN starts_with("type", 'refund.') THEN 0 ELSE 3 END);

ALTER TABLE "organization"
    -- Invitations are kept for 90 days.
    ADD CONSTRAINT "organization_four_eyes_days" CHECK ("four_eyes_days" BETWEEN 0 AND 90);

ALTER TABLE "api_key"
    ADD CONSTRAINT "api_key_hash_is_sha256" CHECK (octet_length(hash) = 32),
    ADD CONSTRAINT "api_key_last_four_is_four" CHECK (char_length(last_four) = 4);

ALTER TABLE "session"
    ADD CONSTRAINT "session_hash_is_sha256" CHECK (octet_length(hash) = 32),
    ADD CONSTRAINT "session_user_agent_length" CHECK (char_length(user_agent) <= 300);

ALTER TABLE "lockout"
    ADD CONSTRAINT "lockout_subject_is_sha256" CHECK (octet_length(subject) = 32),
    -- An attempt is counted before it is checked, and taken back when it was right.
    ADD CONSTRAINT "lockout_failures_from_zero" CHECK (failures >= 0);

ALTER TABLE "invitation"
    ADD CONSTRAINT "invitation_token_hash_is_sha256" CHECK (octet_length(token_hash) = 32),
    ADD CONSTRAINT "invitation_ends_once" CHECK (accepted_at IS NULL OR revoked_at IS NULL);

ALTER TABLE "webhook_cursor" ADD CONSTRAINT "webhook_cursor_one_row" CHECK ("id" = 1);

ALTER TABLE "recovery" ADD CONSTRAINT "recovery_one_row" CHECK ("id" = 1);
INSERT INTO "recovery" ("generation") VALUES (gen_random_uuid()::text);

-- A root is made once its day is over, so one of a later day is not of this service.
ALTER TABLE "timeline_root" ADD CONSTRAINT "timeline_root_of_past_day" CHECK (("created_at" AT TIME ZONE 'UTC')::date > "day");

ALTER TABLE "processor_account"
    ADD CONSTRAINT "processor_account_connected_by_parent" CHECK (("parent_id" IS NULL) = ("connected_account" IS NULL)),
    ADD CONSTRAINT "processor_account_has_credentials" CHECK (
        ("parent_id" IS NULL) = ("encrypted_credentials" IS NOT NULL) AND ("parent_id" IS NULL) = ("encryption_key_id" IS NOT NULL)),
    ADD CONSTRAINT "processor_account_transfers" CHECK ("transfers" IN ('keep', 'reverse')),
    ADD CONSTRAINT "processor_account_application_fees" CHECK ("application_fees" IN ('keep', 'refund')),
    ADD CONSTRAINT "processor_account_default_is_own" CHECK (NOT "is_default" OR "parent_id" IS NULL);

-- An idempotency key belongs to one refund of the organization and environment. The key first, so that a lookup by it can compare the
-- owner as no index can: by the statistics of an empty table the list of an owner's refunds costs the same, and a kept plan may read it
-- to its end.
CREATE UNIQUE INDEX "refund_by_idempotency_key" ON "refund"("idempotency_key", "organization_id", "environment")
    WHERE "idempotency_key" IS NOT NULL;
CREATE UNIQUE INDEX "refund_by_cancel_key" ON "refund"("cancel_key", "organization_id", "environment")
    WHERE "cancel_key" IS NOT NULL;

-- Finds a refund by the processor's id, which a new refund has not yet. Not unique: two refunds of ours may have one, as when a
-- person resolved a refund with the other's id, or both are a void of the same sale. That is for a person to see; it must not
-- keep a result from being recorded.
CREATE INDEX "refund_by_processor_refund" ON "refund"("external_refund_id") WHERE "external_refund_id" IS NOT NULL;

-- The searches for the beginning of a payment's id and of a processor's refund id, in whatever collation. Every name is in the first; the
-- condition is there because Prisma compares indexes without the class of operators, and leaves partial ones alone.
CREATE INDEX "payment_name_by_beginning" ON "payment_name"("organization_id", "environment", "name" text_pattern_ops)
    WHERE "name" IS NOT NULL;
CREATE INDEX "refund_by_processor_refund_beginning"
    ON "refund"("organization_id", "environment", "external_refund_id" text_pattern_ops) WHERE "external_refund_id" IS NOT NULL;

-- Refunds that were accepted more than a day after their creation, for reconciliation: the others are found by the time of their
-- creation. And those that completed more than a week after their processor accepted them: they may fail when they are no longer in the
-- list of what was made lately. Most refunds never have an entry.
CREATE INDEX "refund_accepted_late" ON "refund"("organization_id", "environment", "accepted_at", "id")
    WHERE "accepted_at" - "created_at" > interval '1 day';
CREATE INDEX "refund_completed_late" ON "refund"("organization_id", "environment", "completed_at", "id")
    WHERE "completed_at" - "accepted_at" > interval '7 days';

-- The refunds of a connected account: it may have few of those of its organization.
CREATE INDEX "refund_of_connected" ON "refund"("account_id", "created_at", "id") WHERE "is_connected";

-- The lists of one status, of which nearly every refund has another: most have completed. A query has to name the status in its text.
CREATE INDEX "refund_list_by_status" ON "refund"("organization_id", "environment", "status", "created_at", "id")
    WHERE "status" <> 'completed';

-- What is flagged: few rows at any time, however many refunds there are.
CREATE INDEX "refund_work_flagged" ON "refund_work"("organization_id", "environment", "flagged_at", "refund_id")
    WHERE "flagged_at" IS NOT NULL;

-- What is being retried, per account: few rows unless a processor is in trouble.
CREATE INDEX "refund_work_retrying" ON "refund_work"("organization_id", "environment", "account_id", "retrying_since")
    WHERE "retrying_since" IS NOT NULL;

-- One default per organization, environment and processor, also when two are added at once.
CREATE UNIQUE INDEX "processor_account_default" ON "processor_account"("organization_id", "environment", "processor") WHERE "is_default";
-- The accounts with credentials of their own, which are few, however many are connected to them.
CREATE INDEX "processor_account_own" ON "processor_account"("organization_id", "environment") WHERE "parent_id" IS NULL;
-- The connected accounts that are in use, for reconciliation and for what an owner sees: the others are not looked at.
CREATE INDEX "processor_account_used" ON "processor_account"("used_at") WHERE "used_at" IS NOT NULL;
CREATE INDEX "processor_account_used_by_owner" ON "processor_account"("organization_id", "environment", "used_at")
    WHERE "used_at" IS NOT NULL;
-- The accounts whose credentials are refused. The table has a few rows per organization.
CREATE INDEX "processor_account_misconfigured" ON "processor_account"("processor", "environment")
    WHERE "misconfigured_at" IS NOT NULL;

-- The disputed payments of an environment, which are few.
CREATE INDEX "payment_disputed" ON "payment"("organization_id", "environment", "disputed_at") WHERE "disputed_at" IS NOT NULL;

-- The batches that workers look for.
CREATE INDEX "refund_batch_due_at" ON "refund_batch"("due_at") WHERE "due_at" IS NOT NULL;
-- The finished batches with rejected rows that no one has seen to, newest first.
CREATE INDEX "refund_batch_unseen" ON "refund_batch"("organization_id", "environment", "completed_at")
    WHERE "completed_at" IS NOT NULL AND "seen_at" IS NULL AND "rejected_count" > 0;
-- The next rows of a batch: those that were tried less often first.
CREATE INDEX "refund_batch_row_waiting" ON "refund_batch_row"("batch_id", "attempts", "number") WHERE "state" = 'waiting';
-- The batch of a refund, as of one that has failed.
CREATE INDEX "refund_batch_row_by_refund" ON "refund_batch_row"("refund_id") WHERE "refund_id" IS NOT NULL;

-- What is left to send of the notifications.
CREATE INDEX "notification_due" ON "notification"("due_at") WHERE "due_at" IS NOT NULL;

-- One number per text, number or boolean in the first level of a refund's metadata, for its organization. Numbers and booleans
-- count as their text. The index is made of these, so this function must never change its results; a new rule is a new
-- function and a new index.
CREATE FUNCTION "metadata_terms"(owner_id text, metadata jsonb) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF jsonb_typeof(metadata) <> 'object' THEN
    RETURN '{}';
  END IF;
  RETURN ARRAY(
    -- The length keeps the key `a` with the value `bc` apart from the key `ab` with the value `c`.
    SELECT hashtextextended(owner_id || ' ' || length(pair.key) || ' ' || pair.key || (pair.value #>> '{}'), 0)
    FROM jsonb_each(metadata) AS pair
    WHERE jsonb_typeof(pair.value) IN ('string', 'number', 'boolean'));
END
$$;

-- Finds a rare value, such as an order number, without reading all refunds of the organization.
CREATE INDEX "refund_by_metadata" ON "refund" USING gin ("metadata_terms"("organization_id", "metadata"))
    WHERE "metadata" IS NOT NULL;
-- How often each value of metadata occurs. The planner does not take that from a partial index: without, it expects each value in one
-- of 200 refunds, and searches a long list for a rare one instead of the index. ANALYZE, also that of autovacuum, collects it.
CREATE STATISTICS "refund_metadata_terms" ON ("metadata_terms"("organization_id", "metadata")) FROM "refund";

-- What a person may search a refund by, of the first level of its metadata: each text, number or boolean as a whole, without a `#` before it,
-- and its parts of three characters or more. `#A-20150` has the words `a-20150` and `20150`. One number per word, for its organization.
-- Only letters of ASCII lose their case, as another rule depends on the collation. The index is made of these, so this function must never
-- change its results; a new rule is a new function and a new index.
CREATE FUNCTION "metadata_words"(owner_id text, metadata jsonb) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF jsonb_typeof(metadata) <> 'object' THEN
    RETURN '{}';
  END IF;
  RETURN ARRAY(
    SELECT DISTINCT hashtextextended(owner_id || ' ' || word, 0)
    FROM jsonb_each(metadata) AS pair,
      LATERAL (SELECT ltrim(lower(left(pair.value #>> '{}', 200) COLLATE "C"), '# ')) AS whole(words),
      LATERAL (
        SELECT words UNION
        SELECT part FROM regexp_split_to_table(words, '[^a-z0-9\u0080-\U0010ffff]+') AS part WHERE length(part) >= 3) AS each(word)
    WHERE jsonb_typeof(pair.value) IN ('string', 'number', 'boolean'));
END
$$;
-- The search for a word of the metadata, such as the number of an order.
CREATE INDEX "refund_by_word" ON "refund" USING gin ("metadata_words"("organization_id", "metadata"))
    WHERE "metadata" IS NOT NULL;
-- How often each word of metadata occurs, for the same reason as "refund_metadata_terms".
CREATE STATISTICS "refund_metadata_words" ON ("metadata_words"("organization_id", "metadata")) FROM "refund";

-- The claim of what is due goes from one account with credentials to the next: connected accounts share the places of their parent. Many
-- refunds may be due at one moment; their ids keep the order.
CREATE INDEX "refund_work_due_by_account"
    ON "refund_work"("processor", "organization_id", "environment", (coalesce("parent_id", "account_id")), "due_at", "refund_id");

-- Only public events are looked up by their ids and read in the order of the feed.
CREATE UNIQUE INDEX "refund_event_public_id" ON "refund_event" ("id") WHERE "position" IS NOT NULL;
CREATE UNIQUE INDEX "refund_event_feed" ON "refund_event" ("organization_id", "environment", "position")
    WHERE "position" IS NOT NULL;
-- A feed of rare events would otherwise read all the others. The two types that every refund has need no index of their own.
CREATE INDEX "refund_event_feed_of_rare_types" ON "refund_event" ("organization_id", "environment", "type", "position")
    WHERE "type" IN ('refund.approval_required', 'refund.processing', 'refund.failed', 'refund.cancelled');
-- The new events of all organizations, for their deliveries.
CREATE UNIQUE INDEX "refund_event_all_feeds" ON "refund_event" ("position") WHERE "position" IS NOT NULL;
-- The events of a day, for its root and its proof.
CREATE INDEX "refund_event_by_time" ON "refund_event"("created_at") WHERE "hash" IS NOT NULL;

-- What is pending, per endpoint, so that the backlog of one hides nothing of the others: the attempts under way, and what is due in
-- the order in which it is taken.
CREATE INDEX "webhook_delivery_due" ON "webhook_delivery" ("endpoint_id", "leased_until", "next_attempt_at", "position")
    WHERE "next_attempt_at" IS NOT NULL;
-- The lists and replays of what is pending or has failed, and what ends with its endpoint: few rows beside those that succeeded.
CREATE INDEX "webhook_delivery_open" ON "webhook_delivery" ("endpoint_id", "status", "created_at", "id")
    WHERE "status" <> 'succeeded';

-- A new invitation of an address replaces the open one, also when two are made at the same moment.
CREATE UNIQUE INDEX "invitation_one_open_per_address" ON "invitation"("organization_id", "email")
    WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- One run per account at a time.
CREATE UNIQUE INDEX "reconciliation_run_one_at_a_time" ON "reconciliation_run"("account_id") WHERE finished_at IS NULL;

-- An erasure of personal data finds by key what belongs to a refund or to an address. Partial, so other entries cost nothing.
CREATE INDEX "audit_log_of_exports" ON "audit_log"("organization_id")
    WHERE "action" IN ('refunds.export_started', 'refunds.exported');
CREATE INDEX "audit_log_by_email" ON "audit_log"(("detail"->>'email')) WHERE "detail"->>'email' IS NOT NULL;

-- Free space on each page for updates in place.
ALTER TABLE "payment" SET (fillfactor = 70);
ALTER TABLE "refund_work" SET (fillfactor = 50);

-- By default a table is vacuumed after a fifth of it has changed and analyzed after a tenth, which in a table of ten million rows is
-- after months. refund_work needs nothing of its own: it has only open refunds, so a fifth of it is little.
ALTER TABLE "payment" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "payment_name" SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "refund" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "refund_event" SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "webhook_delivery" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);

-- Lease tokens never repeat, also for work that is inserted again.
CREATE SEQUENCE "lease_token";

-- Positions in the event feed. Used once, so that its last value is always a position that was given away.
CREATE SEQUENCE "refund_event_position";
SELECT nextval('refund_event_position');
INSERT INTO "webhook_cursor" ("id", "position") SELECT 1, last_value FROM "refund_event_position";

-- History is append-only. The trigger fires once per statement, so it refuses even one that matches no row. Only an erasure of
-- personal data may rewrite history: the commands that erase announce it for their transaction. The role of the service has no
-- right to UPDATE these tables and stays refused, whatever it announces.
CREATE FUNCTION refuse_change_of_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('refunds.erasure', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END;
$$;

CREATE TRIGGER "refund_event_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "refund_event"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_history();

CREATE TRIGGER "audit_log_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_log"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_history();

CREATE TRIGGER "timeline_root_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "timeline_root"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_history();

-- A hash for each event, from which docs/operations/timeline.md proves that none was changed or removed. What people and processors wrote
-- is in it as a salted digest; an erasure removes the salt with the words.
--
-- Chains an event to the one before it, or to the refund if that one has no hash: SHA-256 of a JSON array of texts.
-- shared/timeline/hashes.ts computes the same, and what is stored depends on it, so this function must never change its results.
CREATE FUNCTION hash_refund_event() RETURNS trigger LANGUAGE plpgsql
-- Keep a plan that reads by key, also if it is made while the tables are empty.
SET enable_seqscan = off
AS $$
DECLARE
  previous bytea;
  erased jsonb := (NEW.detail
    || CASE WHEN NEW.detail ? 'reason' THEN '{"reason": "(erased)"}'::jsonb ELSE '{}' END
    || CASE WHEN NEW.detail ? 'message' THEN '{"message": "(erased)"}'::jsonb ELSE '{}' END)
    #- '{flag,facts,message}' #- '{settled,facts,message}' #- '{against,facts,message}';
  erased_failure text := CASE WHEN NEW.failure_message IS NOT NULL THEN '(erased)' END;
BEGIN
  SELECT e.hash INTO previous FROM refund_event AS e WHERE e.refund_id = NEW.refund_id AND e.seq = NEW.seq - 1;
  IF previous IS NULL THEN
    SELECT sha256(convert_to(array_to_json(ARRAY['refund', r.id, r.organization_id, r.environment::text, r.processor,
      r.transaction_id, r.amount::text, r.currency, r.reason::text, r.initiated_by::text, r.requester,
      to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')])::text, 'UTF8'))
    INTO previous FROM refund AS r WHERE r.id = NEW.refund_id;
  END IF;
  IF erased <> NEW.detail OR erased_failure <> NEW.failure_message THEN
    NEW.words_salt := uuid_send(gen_random_uuid());
    NEW.words_digest := sha256(convert_to(array_to_json(ARRAY['words', encode(NEW.words_salt, 'hex'), NEW.detail::text,
      NEW.failure_message])::text, 'UTF8'));
  ELSE
    NEW.words_salt := NULL;
    NEW.words_digest := NULL;
  END IF;
  NEW.hash := sha256(convert_to(array_to_json(ARRAY['event', encode(previous, 'hex'), encode(NEW.words_digest, 'hex'),
    NEW.id, NEW.refund_id, NEW.seq::text, NEW.type, NEW.actor, NEW.previous_status::text, NEW.status::text, erased::text,
    to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), NEW.organization_id, NEW.environment::text,
    NEW.position::text, NEW.external_refund_id, NEW.failure_code, erased_failure])::text, 'UTF8'));
  RETURN NEW;
END
$$;

CREATE TRIGGER "refund_event_hash" BEFORE INSERT ON "refund_event" FOR EACH ROW EXECUTE FUNCTION hash_refund_event();

-- The texts of these functions are in prisma/functions, which replaces them in the same transaction.
CREATE FUNCTION refuse_written_reserved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION keep_reserved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION can_move(status_before refund_status, status_after refund_status) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
CREATE FUNCTION refuse_other_moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;

-- At depth 0 a statement writes it, below that the trigger of the refunds.
CREATE TRIGGER "payment_reserved_is_derived" AFTER UPDATE OF "reserved" ON "payment"
    FOR EACH ROW WHEN (pg_trigger_depth() = 0 AND NEW.reserved <> OLD.reserved) EXECUTE FUNCTION refuse_written_reserved();
CREATE TRIGGER "payment_reserved_from_zero" AFTER INSERT ON "payment"
    FOR EACH ROW WHEN (NEW.reserved <> 0) EXECUTE FUNCTION refuse_written_reserved();

-- By row, because few updates change a status or a reservation, and the conditions spare the others all cost, and because refunds are
-- inserted one by one. After the update, because a trigger before it would lock each row once more.
CREATE TRIGGER "refund_reserves" AFTER INSERT ON "refund"
    FOR EACH ROW WHEN (NEW.is_live) EXECUTE FUNCTION keep_reserved();
CREATE TRIGGER "refund_changes_reservation" AFTER UPDATE ON "refund"
    FOR EACH ROW WHEN ((OLD.is_live, OLD.amount, OLD.payment_id) IS DISTINCT FROM (NEW.is_live, NEW.amount, NEW.payment_id))
    EXECUTE FUNCTION keep_reserved();
CREATE TRIGGER "refund_moves_by_state_table" AFTER UPDATE ON "refund"
    FOR EACH ROW WHEN (OLD.status <> NEW.status AND NOT can_move(OLD.status, NEW.status))
    EXECUTE FUNCTION refuse_other_moves();

-- Which versions may use this database together: `dataFormat` of shared/platform/data-format.ts. A migration raises it when processes of the
-- version before must not run beside those of its own.
CREATE FUNCTION data_format() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 1 $$;
