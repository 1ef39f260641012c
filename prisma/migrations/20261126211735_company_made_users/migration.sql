-- An address that a provider alone has vouched for is taken in its organization, and nowhere else.
ALTER TABLE "user" ADD COLUMN "company_of" TEXT NOT NULL DEFAULT '';

-- allowed: no version before this one was released, so no installation has users whom a lock could keep waiting.
-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX "user_email_company_of_key" ON "user" ("email", "company_of");
-- allowed: the index above serves the lookups by address.
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "user_email_key";
