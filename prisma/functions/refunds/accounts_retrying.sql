-- The accounts of an owner, connected ones among them, that have a refund whose last attempt, lookup or read failed; 1,000 at most. It goes
-- from account to account in the index, as accounts_with_work.sql does.
CREATE OR REPLACE FUNCTION accounts_retrying(owner_id text, owner_environment environment) RETURNS TABLE (account_id text)
LANGUAGE plpgsql STABLE
-- In the order of the index, also with a plan from a time when nothing was retried.
SET enable_sort = off
AS $$
BEGIN
  account_id := '';
  FOR found IN 1..1000 LOOP
    account_id := (
      SELECT w.account_id FROM refund_work AS w
      WHERE w.organization_id = owner_id AND w.environment = owner_environment
        AND w.account_id > accounts_retrying.account_id AND w.retrying_since IS NOT NULL
      ORDER BY w.account_id, w.retrying_since LIMIT 1);
    EXIT WHEN account_id IS NULL;
    RETURN NEXT;
  END LOOP;
END
$$;
