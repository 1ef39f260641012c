-- The filters of the refunds list that a member keeps, by their names: {"Large ones": "?amountFrom=500&currency=eur"}.
ALTER TABLE "membership" ADD COLUMN "saved_views" JSONB NOT NULL DEFAULT '{}';
