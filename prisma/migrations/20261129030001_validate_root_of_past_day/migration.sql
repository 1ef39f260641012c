ALTER TABLE "timeline_root" VALIDATE CONSTRAINT "timeline_root_of_past_day";
