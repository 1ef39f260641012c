ALTER TABLE "membership" ADD COLUMN "declined_mails" TEXT[] DEFAULT ARRAY[]::TEXT[];
