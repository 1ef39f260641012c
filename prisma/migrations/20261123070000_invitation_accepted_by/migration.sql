-- Who accepted an invitation, so that it still connects two people when its address is erased.
ALTER TABLE "invitation" ADD COLUMN "accepted_by" TEXT;

UPDATE "invitation" SET "accepted_by" = 'user:' || "user"."id" FROM "user"
WHERE "user"."email" = "invitation"."email" AND "invitation"."accepted_at" IS NOT NULL;
