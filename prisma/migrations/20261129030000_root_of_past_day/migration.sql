-- A root is made once its day is over, so one of a later day is not of this service.
ALTER TABLE "timeline_root" ADD CONSTRAINT "timeline_root_of_past_day" CHECK (("created_at" AT TIME ZONE 'UTC')::date > "day") NOT VALID;
