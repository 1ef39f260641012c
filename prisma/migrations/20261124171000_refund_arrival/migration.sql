-- What the customer's bank knows the refund by, once the processor has said it: {"reference", "referenceType"}.
ALTER TABLE "refund" ADD COLUMN "arrival" JSONB;
