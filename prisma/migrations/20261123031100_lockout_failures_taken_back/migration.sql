-- An attempt is counted before it is checked, and taken back when it was right.
ALTER TABLE "lockout"
    DROP CONSTRAINT "lockout_failures_from_one",
    ADD CONSTRAINT "lockout_failures_from_zero" CHECK (failures >= 0);
