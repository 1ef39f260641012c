ALTER TABLE "refund_work" ADD COLUMN "sent_metadata" JSONB;

ALTER TABLE "processor_account" ADD COLUMN "sent_metadata_keys" TEXT[] DEFAULT ARRAY[]::TEXT[];
