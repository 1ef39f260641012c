-- Every key that exists was made for the first version of the API.
ALTER TABLE "api_key" ADD COLUMN "api_version" TEXT NOT NULL DEFAULT '2026-11-24';
