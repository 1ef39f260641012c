-- The keys that a person or another key created: without it, each of n keys of a person reads all of them.
CREATE INDEX "api_key_by_creator" ON "api_key"("created_by");
