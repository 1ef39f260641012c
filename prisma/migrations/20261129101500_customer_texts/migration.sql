-- The organization's own texts of the message to the customer, by language.
ALTER TABLE "organization" ADD COLUMN "customer_texts" JSONB NOT NULL DEFAULT '{}';
