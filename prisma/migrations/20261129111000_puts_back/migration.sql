ALTER TABLE "reconciliation_run" ADD COLUMN "puts_back" BOOLEAN NOT NULL DEFAULT false;
