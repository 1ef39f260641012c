-- AlterTable
ALTER TABLE "user" ADD COLUMN "single_keys" BOOLEAN NOT NULL DEFAULT true;
