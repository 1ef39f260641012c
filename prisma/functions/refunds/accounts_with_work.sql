-- The accounts with credentials of an owner at a processor that have a refund with work that is due now or later, or are the parent of one
-- that has; 1,000 at most. It goes from account to account in the index, so that those without work cost nothing, nor do the refunds of the
-- others.
CREATE OR REPLACE FUNCTION accounts_with_work(named_processor text, owner_id text, owner_environment environment)
RETURNS TABLE (account_id text)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  account_id := '';
  FOR found IN 1..1000 LOOP
    account_id := (
      SELECT coalesce(w.parent_id, w.account_id) FROM refund_work AS w
      WHERE w.processor = named_processor AND w.organization_id = owner_id AND w.environment = owner_environment
        AND coalesce(w.parent_id, w.account_id) > accounts_with_work.account_id
      ORDER BY coalesce(w.parent_id, w.account_id), w.due_at LIMIT 1);
    EXIT WHEN account_id IS NULL;
    RETURN NEXT;
  END LOOP;
END
$$;
