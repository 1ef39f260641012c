-- The processor's id of an account, by which a second name for the same account is noticed.
ALTER TABLE "processor_account" ADD COLUMN "external_account_id" TEXT;
