-- allowed: only create_refunds called it, whose text is replaced in the same transaction, and no version before it was released.
DROP FUNCTION IF EXISTS exceeded_limit(jsonb, payment, bigint, text, text, timestamptz);
