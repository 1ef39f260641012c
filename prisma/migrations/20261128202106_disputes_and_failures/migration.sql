-- AlterTable
ALTER TABLE "payment" ADD COLUMN     "disputed_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "refund_batch" ADD COLUMN     "seen_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "notification_channel" ADD COLUMN     "failing_since" TIMESTAMPTZ(3);
