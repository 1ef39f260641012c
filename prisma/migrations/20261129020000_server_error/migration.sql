-- AlterTable
ALTER TABLE "refund_work" ADD COLUMN "server_error_at" TIMESTAMPTZ(3),
ADD COLUMN "key_used_at" TIMESTAMPTZ(3);
