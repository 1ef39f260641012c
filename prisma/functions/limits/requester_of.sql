-- Whose requests count together: a person's, with those of the API keys that the person created, also with another key. A key that
-- was made on the command line counts on its own, with the keys that were created with it. This never changes, so a refund keeps
-- its requester.
--
-- actor: as in timelines, `user:<id>` or `key:<id>`. Returns an actor.
CREATE OR REPLACE FUNCTION requester_of(actor text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
  creator text;
BEGIN
  WHILE actor LIKE 'key:%' LOOP
    SELECT created_by INTO creator FROM api_key WHERE id = substr(actor, 5);
    EXIT WHEN creator IS NULL OR NOT creator LIKE ANY ('{key:%,user:%}');
    actor := creator;
  END LOOP;
  RETURN actor;
END
$$;
