-- A new TypeID as newId in shared/platform/ids.ts makes it, for rows that a statement makes: a UUIDv7 in base 32.
CREATE OR REPLACE FUNCTION new_type_id(prefix text, moment timestamptz) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- 48 bits of time and the version in front of 76 random bits with the variant; two zeros make it 130.
  bits bit(130) := B'00' || ('x' || lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '7'
    || substr(replace(gen_random_uuid()::text, '-', ''), 14))::bit(128);
  id text := prefix || '_';
BEGIN
  FOR place IN 0..25 LOOP
    id := id || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(bits FROM 1 + 5 * place FOR 5)::int, 1);
  END LOOP;
  RETURN id;
END
$$;
