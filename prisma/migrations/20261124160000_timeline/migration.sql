-- A hash for each event, from which docs/operations/timeline.md proves that none was changed or removed. Events from before have none.
ALTER TABLE "refund_event" ADD COLUMN "hash" BYTEA;
-- What people and processors wrote is in the hash as a salted digest. An erasure removes the salt with the words.
ALTER TABLE "refund_event" ADD COLUMN "words_salt" BYTEA;
ALTER TABLE "refund_event" ADD COLUMN "words_digest" BYTEA;

-- CreateTable
CREATE TABLE "timeline_root" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "day" DATE NOT NULL,
    "event_count" INTEGER NOT NULL,
    "root" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "timeline_root_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "timeline_root_day_idx" ON "timeline_root"("day");

-- CreateIndex
CREATE UNIQUE INDEX "timeline_root_organization_id_environment_day_key" ON "timeline_root"("organization_id", "environment", "day");

CREATE TRIGGER "timeline_root_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "timeline_root"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_history();

-- Chains an event to the one before it, or to the refund if that one has no hash: SHA-256 of a JSON array of texts.
-- shared/timeline/hashes.ts computes the same, and what is stored depends on it, so this function must never change its results.
CREATE FUNCTION hash_refund_event() RETURNS trigger LANGUAGE plpgsql
-- Keep a plan that reads by key, also if it is made while the tables are empty.
SET enable_seqscan = off
AS $$
DECLARE
  previous bytea;
  erased jsonb := (NEW.detail
    || CASE WHEN NEW.detail ? 'reason' THEN '{"reason": "(erased)"}'::jsonb ELSE '{}' END
    || CASE WHEN NEW.detail ? 'message' THEN '{"message": "(erased)"}'::jsonb ELSE '{}' END)
    #- '{flag,facts,message}' #- '{settled,facts,message}' #- '{against,facts,message}';
  erased_failure text := CASE WHEN NEW.failure_message IS NOT NULL THEN '(erased)' END;
BEGIN
  SELECT e.hash INTO previous FROM refund_event AS e WHERE e.refund_id = NEW.refund_id AND e.seq = NEW.seq - 1;
  IF previous IS NULL THEN
    SELECT sha256(convert_to(array_to_json(ARRAY['refund', r.id, r.organization_id, r.environment::text, r.processor,
      r.transaction_id, r.amount::text, r.currency, r.reason::text, r.initiated_by::text, r.requester,
      to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')])::text, 'UTF8'))
    INTO previous FROM refund AS r WHERE r.id = NEW.refund_id;
  END IF;
  IF erased <> NEW.detail OR erased_failure <> NEW.failure_message THEN
    NEW.words_salt := uuid_send(gen_random_uuid());
    NEW.words_digest := sha256(convert_to(array_to_json(ARRAY['words', encode(NEW.words_salt, 'hex'), NEW.detail::text,
      NEW.failure_message])::text, 'UTF8'));
  ELSE
    NEW.words_salt := NULL;
    NEW.words_digest := NULL;
  END IF;
  NEW.hash := sha256(convert_to(array_to_json(ARRAY['event', encode(previous, 'hex'), encode(NEW.words_digest, 'hex'),
    NEW.id, NEW.refund_id, NEW.seq::text, NEW.type, NEW.actor, NEW.previous_status::text, NEW.status::text, erased::text,
    to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), NEW.organization_id, NEW.environment::text,
    NEW.position::text, NEW.external_refund_id, NEW.failure_code, erased_failure])::text, 'UTF8'));
  RETURN NEW;
END
$$;

CREATE TRIGGER "refund_event_hash" BEFORE INSERT ON "refund_event" FOR EACH ROW EXECUTE FUNCTION hash_refund_event();
