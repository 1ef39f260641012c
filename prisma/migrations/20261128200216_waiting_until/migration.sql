-- AlterTable
ALTER TABLE "refund_work" ADD COLUMN     "waiting_until" TIMESTAMPTZ(3);
