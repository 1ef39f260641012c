-- AlterTable
ALTER TABLE "refund_work" ADD COLUMN     "approval_requested_at" TIMESTAMPTZ(3);
