-- A new TypeID as newId in shared/platform/ids.ts makes it, for rows that a statement makes: a UUIDv7 in base 32.
CREATE OR REPLACE FUNCTION new_type_id(prefix text, moment timestamptz) RETURNS text
LANGUAGE sql VOLATILE AS $$
  SELECT prefix || '_' || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(bits FROM place FOR 5)::bit(5)::int, 1), '' ORDER BY place)
  FROM (
    -- 48 bits of time and the version in front of 76 random bits with the variant; two zeros make it 130.
    SELECT B'00' || ('x' || lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '7'
      || substr(replace(gen_random_uuid()::text, '-', ''), 14))::bit(128) AS bits
  ) AS id, generate_series(1, 126, 5) AS place
$$;
