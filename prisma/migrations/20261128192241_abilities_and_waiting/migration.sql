-- AlterTable
ALTER TABLE "processor_account" ADD COLUMN     "abilities" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN     "worked_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "refund_work" ADD COLUMN     "waiting_for" TEXT,
ADD COLUMN     "waiting_since" TIMESTAMPTZ(3);
