-- Until when a policy holds the refund before it is sent.
ALTER TABLE "refund" ADD COLUMN "held_until" TIMESTAMPTZ(3);
