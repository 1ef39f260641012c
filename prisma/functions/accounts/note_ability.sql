-- Notes on an account what its credentials may do, unless they have been replaced since they were used.
--
-- credentials_of    updated_at of the account whose credentials were used
-- ability           an ability, or 'credentials' when every call is refused (shared/processors/accounts/abilities.ts)
-- evidence          {state, code, message, permission}; `since` is added, and stays while the state does
--
-- A call that succeeds ends the refusal of all credentials, and no other refusal than its own. A verified webhook is no call.
--
-- Returns what is known of the account then; NULL when the credentials have been replaced.
CREATE OR REPLACE FUNCTION note_ability(account_id text, credentials_of timestamptz, ability text, evidence jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := service_time();
  is_success boolean := evidence->>'state' = 'works' AND ability <> 'webhooks';
  known jsonb;
  noted jsonb;
BEGIN
  SELECT a.abilities INTO known FROM processor_account AS a WHERE a.id = account_id AND a.updated_at = credentials_of FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  noted := CASE WHEN is_success THEN known - 'credentials' ELSE known END;
  IF noted->ability->>'state' IS DISTINCT FROM evidence->>'state' THEN
    noted := noted || jsonb_build_object(ability, evidence || jsonb_build_object('since', moment));
  ELSIF noted->ability->>'permission' IS DISTINCT FROM evidence->>'permission' THEN
    noted := noted || jsonb_build_object(ability, evidence || jsonb_build_object('since', noted->ability->'since'));
  END IF;
  UPDATE processor_account AS a SET
    abilities = noted,
    worked_at = CASE WHEN is_success THEN coalesce(a.worked_at, moment) ELSE a.worked_at END,
    misconfigured_at = (
      SELECT min((each.value->>'since')::timestamptz) FROM jsonb_each(noted) AS each WHERE each.value->>'state' = 'refused')
  WHERE a.id = account_id AND noted IS DISTINCT FROM known;
  RETURN noted;
END
$$;
