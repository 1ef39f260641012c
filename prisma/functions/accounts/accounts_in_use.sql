-- The accounts of an owner with credentials of their own, and those connected to them that were used in the last 90 days, the latest used
-- first; 1,000 of these at most. The others cost nothing, however many there are.
CREATE OR REPLACE FUNCTION accounts_in_use(owner_id text, owner_environment environment) RETURNS SETOF processor_account
LANGUAGE plpgsql STABLE AS $$
DECLARE
  -- A variable, because no index is searched for what a function answers that may differ from row to row.
  used_since CONSTANT timestamptz := service_time() - interval '90 days';
BEGIN
  RETURN QUERY SELECT * FROM processor_account AS a
    WHERE a.organization_id = owner_id AND a.environment = owner_environment AND a.parent_id IS NULL;
  RETURN QUERY SELECT * FROM processor_account AS a
    WHERE a.organization_id = owner_id AND a.environment = owner_environment AND a.used_at > used_since
    ORDER BY a.used_at DESC LIMIT 1000;
END
$$;
