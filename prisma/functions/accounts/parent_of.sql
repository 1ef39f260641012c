-- The account that a connected account is connected to. Not called for others, of which there are many more.
CREATE OR REPLACE FUNCTION parent_of(connected text) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT a.parent_id FROM processor_account AS a WHERE a.id = connected
$$;
