-- The metadata that lists of refunds show as columns; none for the usual order and customer.
ALTER TABLE "organization" ADD COLUMN "refund_columns" TEXT[] DEFAULT ARRAY[]::TEXT[];
