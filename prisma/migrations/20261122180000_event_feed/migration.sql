-- AlterTable
ALTER TABLE "refund_event" DROP CONSTRAINT "refund_event_pkey",
ADD COLUMN     "environment" "environment",
ADD COLUMN     "external_refund_id" TEXT,
ADD COLUMN     "failure_code" TEXT,
ADD COLUMN     "failure_message" TEXT,
ADD COLUMN     "organization_id" TEXT,
ADD COLUMN     "position" BIGINT,
ADD CONSTRAINT "refund_event_pkey" PRIMARY KEY USING INDEX "refund_event_refund_id_seq_key";

-- Positions in the event feed. Used once, so that its last value is always a position that was given away.
CREATE SEQUENCE "refund_event_position";
SELECT nextval('refund_event_position');

-- Events that were recorded before the feed existed. External ids are set once, when the processor has accepted the refund.
ALTER TABLE "refund_event" DISABLE TRIGGER "refund_event_append_only";
UPDATE "refund_event" AS e SET
    "position" = ordered."position",
    "organization_id" = r."organization_id",
    "environment" = r."environment",
    "external_refund_id" = CASE
        WHEN e."type" IN ('refund.completed', 'refund.failed', 'refund.cancelled') THEN r."external_refund_id" END,
    "failure_code" = CASE WHEN e."type" = 'refund.failed' THEN r."failure_code" END,
    "failure_message" = CASE WHEN e."type" = 'refund.failed' THEN r."failure_message" END
FROM "refund" AS r, (
    SELECT "refund_id", "seq", nextval('refund_event_position') AS "position"
    FROM (SELECT "refund_id", "seq" FROM "refund_event" WHERE "type" LIKE 'refund.%'
        ORDER BY "created_at", "refund_id", "seq") AS public
) AS ordered
WHERE r."id" = e."refund_id" AND ordered."refund_id" = e."refund_id" AND ordered."seq" = e."seq";
ALTER TABLE "refund_event" ENABLE TRIGGER "refund_event_append_only";

-- Only public events are looked up by their ids and read in the order of the feed.
CREATE UNIQUE INDEX "refund_event_public_id" ON "refund_event" ("id") WHERE "position" IS NOT NULL;
CREATE UNIQUE INDEX "refund_event_feed" ON "refund_event" ("organization_id", "environment", "position")
    WHERE "position" IS NOT NULL;
-- A feed of rare events would otherwise read all the others. The two types that every refund has need no index of their own.
CREATE INDEX "refund_event_feed_of_rare_types" ON "refund_event" ("organization_id", "environment", "type", "position")
    WHERE "type" IN ('refund.approval_required', 'refund.processing', 'refund.failed', 'refund.cancelled');

ALTER TABLE "refund_event"
    ADD CONSTRAINT "refund_event_public_in_feed" CHECK (
        num_nulls("organization_id", "environment", "position") = CASE WHEN "type" IN (
            'refund.created', 'refund.approval_required', 'refund.processing',
            'refund.completed', 'refund.failed', 'refund.cancelled') THEN 0 ELSE 3 END);
