-- Null for an endpoint that the version before creates.
ALTER TABLE "webhook_endpoint" ADD COLUMN "created_by" TEXT;

-- allowed: an environment has at most 16 endpoints, which are changed by people alone, and the entries are found by their index.
UPDATE "webhook_endpoint" SET "created_by" = (
  SELECT entry."actor" FROM "audit_log" AS entry
  WHERE entry."organization_id" = "webhook_endpoint"."organization_id" AND entry."target" = "webhook_endpoint"."id"
    AND entry."action" = 'webhook_endpoint.created'
  LIMIT 1);
