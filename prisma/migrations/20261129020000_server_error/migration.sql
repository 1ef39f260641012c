-- AlterTable
ALTER TABLE "refund_work" ADD COLUMN "server_error_at" TIMESTAMPTZ(3);
