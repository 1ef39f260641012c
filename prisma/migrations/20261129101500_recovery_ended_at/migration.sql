-- When the last recovery ended, which until now was a part of the generation alone: `<id of the installation>/<time>`.
ALTER TABLE "recovery" ADD COLUMN "ended_at" TIMESTAMPTZ(3);

-- allowed: the table has one row, which statements write only when a recovery begins or ends.
UPDATE "recovery" SET "ended_at" = nullif(rtrim(split_part("generation", '/', 2), '+'), '')::timestamp AT TIME ZONE 'UTC';
