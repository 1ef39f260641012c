-- One number per text, number or boolean in the first level of a refund's metadata, for its organization. Numbers and booleans
-- count as their text. The index is made of these, so this function must never change its results; a new rule is a new
-- function and a new index.
CREATE FUNCTION "metadata_terms"(owner_id text, metadata jsonb) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF jsonb_typeof(metadata) <> 'object' THEN
    RETURN '{}';
  END IF;
  RETURN ARRAY(
    -- The length keeps the key `a` with the value `bc` apart from the key `ab` with the value `c`.
    SELECT hashtextextended(owner_id || ' ' || length(pair.key) || ' ' || pair.key || (pair.value #>> '{}'), 0)
    FROM jsonb_each(metadata) AS pair
    WHERE jsonb_typeof(pair.value) IN ('string', 'number', 'boolean'));
END
$$;

-- Without it, looking for a rare value such as an order number would read all refunds of the organization.
CREATE INDEX "refund_by_metadata" ON "refund" USING gin ("metadata_terms"("organization_id", "metadata"))
    WHERE "metadata" IS NOT NULL;
