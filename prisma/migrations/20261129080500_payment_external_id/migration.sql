-- The id by which the processor always finds the payment: another one, as of an invoice, may stand for several payments later.
ALTER TABLE "payment" ADD COLUMN "external_id" TEXT;
