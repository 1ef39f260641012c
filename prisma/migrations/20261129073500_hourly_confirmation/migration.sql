ALTER TABLE "organization" ADD COLUMN "confirms_hourly" BOOLEAN NOT NULL DEFAULT false;
