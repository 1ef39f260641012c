-- What a person may search a refund by, of the first level of its metadata: each text, number or boolean as a whole, without a `#` before it,
-- and its parts of three characters or more. `#A-20150` has the words `a-20150` and `20150`. One number per word, for its organization.
-- Only letters of ASCII lose their case, as another rule depends on the collation. The index is made of these, so this function must never
-- change its results; a new rule is a new function and a new index.
CREATE FUNCTION "metadata_words"(owner_id text, metadata jsonb) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF jsonb_typeof(metadata) <> 'object' THEN
    RETURN '{}';
  END IF;
  RETURN ARRAY(
    SELECT DISTINCT hashtextextended(owner_id || ' ' || word, 0)
    FROM jsonb_each(metadata) AS pair,
      LATERAL (SELECT ltrim(lower(left(pair.value #>> '{}', 200) COLLATE "C"), '# ')) AS whole(words),
      LATERAL (
        SELECT words UNION
        SELECT part FROM regexp_split_to_table(words, '[^a-z0-9\u0080-\U0010ffff]+') AS part WHERE length(part) >= 3) AS each(word)
    WHERE jsonb_typeof(pair.value) IN ('string', 'number', 'boolean'));
END
$$;
