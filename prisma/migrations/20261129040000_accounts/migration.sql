-- What belongs to a processor account names it, in place of its organization, environment and processor, of which an organization can have
-- several accounts now. Those that exist become the default ones, named after their processor.
--
-- No version before this one was released, so none runs meanwhile and no table is large.
-- squawk-ignore-file adding-not-nullable-field, adding-required-field, ban-drop-column, ban-drop-table, ban-drop-not-null, constraint-missing-not-valid, adding-foreign-key-constraint, disallowed-unique-constraint, adding-serial-primary-key-field, require-concurrent-index-creation, require-concurrent-index-deletion

-- allowed: an account without credentials of its own is new, so no version before this one meets one.
ALTER TABLE "processor_account"
    ADD COLUMN "name" TEXT,
    ADD COLUMN "is_default" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "parent_id" TEXT,
    ADD COLUMN "connected_account" TEXT,
    ADD COLUMN "used_at" TIMESTAMPTZ(3),
    ADD COLUMN "transfers" TEXT NOT NULL DEFAULT 'keep',
    ADD COLUMN "application_fees" TEXT NOT NULL DEFAULT 'keep',
    ALTER COLUMN "encrypted_credentials" DROP NOT NULL,
    ALTER COLUMN "encryption_key_id" DROP NOT NULL;
-- allowed: no version before this one was released.
ALTER TABLE "processor_account" DROP COLUMN "throttled_until";
-- allowed: there are a few accounts per organization.
UPDATE "processor_account" SET "name" = "processor", "is_default" = true;
ALTER TABLE "processor_account" ALTER COLUMN "name" SET NOT NULL;

-- allowed: no version before this one was released.
DROP TABLE "account_calls";

-- The functions with these parameters are replaced by others in the same transaction.
-- allowed: no version before this one was released.
DROP FUNCTION IF EXISTS resume_refunds(text, environment, text);
-- allowed: no version before this one was released.
DROP FUNCTION IF EXISTS claim_due_refunds(text, int, int, jsonb, int, jsonb, text[]);
-- allowed: no version before this one was released.
DROP FUNCTION IF EXISTS compare_processor_events(jsonb);
-- allowed: no version before this one was released.
DROP FUNCTION IF EXISTS accounts_in_trouble(text, environment, int, int);
-- allowed: no version before this one was released.
DROP FUNCTION IF EXISTS hold_payment(text, environment, text, text, jsonb, timestamptz);
-- allowed: no version before this one was released.
DROP FUNCTION IF EXISTS new_payment(text, environment, text, jsonb, timestamptz);
-- allowed: no version before this one was released.
DROP FUNCTION IF EXISTS payment_name_locks(text, environment, text, text[]);

-- Payments.
ALTER TABLE "payment"
    ADD COLUMN "account_id" TEXT,
    ADD COLUMN "has_transfer" BOOLEAN,
    ADD COLUMN "transfer_destination" TEXT,
    ADD COLUMN "has_application_fee" BOOLEAN;
-- allowed: no version before this one was released.
UPDATE "payment" AS p SET "account_id" = a.id, "fetched_at" = NULL FROM "processor_account" AS a
WHERE (a.organization_id, a.environment, a.processor) = (p.organization_id, p.environment, p.processor);
ALTER TABLE "payment" ALTER COLUMN "account_id" SET NOT NULL;

ALTER TABLE "payment_name" ADD COLUMN "account_id" TEXT;
-- allowed: no version before this one was released.
UPDATE "payment_name" AS n SET "account_id" = p.account_id FROM "payment" AS p WHERE p.id = n.payment_id;
ALTER TABLE "payment_name" ALTER COLUMN "account_id" SET NOT NULL;

-- Refunds.
ALTER TABLE "refund"
    ADD COLUMN "account_id" TEXT,
    ADD COLUMN "is_connected" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "options" JSONB;
-- allowed: no version before this one was released.
UPDATE "refund" AS r SET "account_id" = p.account_id FROM "payment" AS p WHERE p.id = r.payment_id;
ALTER TABLE "refund" ALTER COLUMN "account_id" SET NOT NULL;

ALTER TABLE "refund_work" ADD COLUMN "account_id" TEXT;
-- allowed: no version before this one was released.
UPDATE "refund_work" AS w SET "account_id" = r.account_id FROM "refund" AS r WHERE r.id = w.refund_id;
ALTER TABLE "refund_work" ALTER COLUMN "account_id" SET NOT NULL;

-- What told the account before.
-- allowed: no version before this one was released.
ALTER TABLE "refund" DROP CONSTRAINT "refund_payment_id_organization_id_environment_processor_fkey";
-- allowed: no version before this one was released.
ALTER TABLE "payment_name" DROP CONSTRAINT "payment_name_payment_id_organization_id_environment_proces_fkey";
-- allowed: no version before this one was released.
ALTER TABLE "payment_name" DROP CONSTRAINT "payment_name_pkey";
-- allowed: no version before this one was released.
ALTER TABLE "payment" DROP CONSTRAINT "payment_organization_id_environment_processor_fkey";
-- allowed: no version before this one was released.
DROP INDEX "payment_id_organization_id_environment_processor_key";
-- allowed: no version before this one was released.
DROP INDEX "processor_account_organization_id_environment_processor_key";
-- allowed: no version before this one was released.
DROP INDEX "refund_work_due_by_account";
-- allowed: no version before this one was released.
DROP INDEX "refund_work_retrying";
-- allowed: no version before this one was released.
ALTER TABLE "payment" DROP COLUMN "processor";
-- allowed: no version before this one was released.
ALTER TABLE "payment_name" DROP COLUMN "processor";

-- What tells it now.
CREATE UNIQUE INDEX "processor_account_organization_id_environment_processor_nam_key"
    ON "processor_account"("organization_id", "environment", "processor", "name");
CREATE UNIQUE INDEX "processor_account_parent_id_connected_account_key" ON "processor_account"("parent_id", "connected_account");
CREATE UNIQUE INDEX "processor_account_id_organization_id_environment_key" ON "processor_account"("id", "organization_id", "environment");
CREATE UNIQUE INDEX "payment_id_account_id_organization_id_environment_key" ON "payment"("id", "account_id", "organization_id", "environment");
ALTER TABLE "payment_name" ADD CONSTRAINT "payment_name_pkey" PRIMARY KEY ("account_id", "name");
CREATE INDEX "refund_work_due_by_account"
    ON "refund_work"("processor", "organization_id", "environment", "account_id", "due_at", "refund_id");

ALTER TABLE "processor_account" ADD CONSTRAINT "processor_account_parent_id_fkey"
    FOREIGN KEY ("parent_id") REFERENCES "processor_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "payment" ADD CONSTRAINT "payment_account_id_organization_id_environment_fkey"
    FOREIGN KEY ("account_id", "organization_id", "environment")
    REFERENCES "processor_account"("id", "organization_id", "environment") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "payment_name" ADD CONSTRAINT "payment_name_payment_id_account_id_organization_id_environ_fkey"
    FOREIGN KEY ("payment_id", "account_id", "organization_id", "environment")
    REFERENCES "payment"("id", "account_id", "organization_id", "environment") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "refund" ADD CONSTRAINT "refund_payment_id_account_id_organization_id_environment_fkey"
    FOREIGN KEY ("payment_id", "account_id", "organization_id", "environment")
    REFERENCES "payment"("id", "account_id", "organization_id", "environment") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Beyond what Prisma can express.
ALTER TABLE "processor_account"
    ADD CONSTRAINT "processor_account_connected_by_parent" CHECK (("parent_id" IS NULL) = ("connected_account" IS NULL)),
    ADD CONSTRAINT "processor_account_has_credentials" CHECK (
        ("parent_id" IS NULL) = ("encrypted_credentials" IS NOT NULL) AND ("parent_id" IS NULL) = ("encryption_key_id" IS NOT NULL)),
    ADD CONSTRAINT "processor_account_transfers" CHECK ("transfers" IN ('keep', 'reverse')),
    ADD CONSTRAINT "processor_account_application_fees" CHECK ("application_fees" IN ('keep', 'refund')),
    ADD CONSTRAINT "processor_account_default_is_own" CHECK (NOT "is_default" OR "parent_id" IS NULL);
-- One default per organization, environment and processor, also when two are added at once.
CREATE UNIQUE INDEX "processor_account_default" ON "processor_account"("organization_id", "environment", "processor") WHERE "is_default";
-- The accounts with credentials of their own, which are few, however many are connected to them.
CREATE INDEX "processor_account_own" ON "processor_account"("organization_id", "environment") WHERE "parent_id" IS NULL;
-- The connected accounts that are in use, for reconciliation and for what an owner sees: the others are not looked at.
CREATE INDEX "processor_account_used" ON "processor_account"("used_at") WHERE "used_at" IS NOT NULL;
CREATE INDEX "processor_account_used_by_owner" ON "processor_account"("organization_id", "environment", "used_at")
    WHERE "used_at" IS NOT NULL;
-- What is being retried, per account: few rows unless a processor is in trouble.
CREATE INDEX "refund_work_retrying" ON "refund_work"("organization_id", "environment", "account_id", "retrying_since")
    WHERE "retrying_since" IS NOT NULL;
-- The refunds of a connected account: it may have few of those of its organization.
CREATE INDEX "refund_of_connected" ON "refund"("account_id", "created_at", "id") WHERE "is_connected";
