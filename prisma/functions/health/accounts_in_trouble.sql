-- The processor accounts that leave refunds without an answer, of one organization and environment or, with nulls, of all.
--
-- Left out are refunds of refused credentials, where the processor has answered, and attempts under way. Steps from account to account
-- of refund_work_retrying and reads a limited number of refunds of each, so that a backlog costs no more.
--
-- most              accounts that are read
-- most_refunds      refunds of an account that are counted
--
-- since             when the first of these refunds was left without an answer
-- refunds, unknown  how many are retried, and of how many it is unknown whether the processor has them
-- next_attempt_at   when the next of them is due; when all are, the time at which the last one was: nothing was asked since
-- accepts_others    true when the processor has accepted a refund of the account since then: one of the newest 50 of a connected account,
--                   else of those among the newest 500 of its organization
CREATE OR REPLACE FUNCTION accounts_in_trouble(owner_id text, owner_environment environment, most int, most_refunds int)
RETURNS TABLE (account_id text, organization_id text, environment environment, processor text, name text, since timestamptz, refunds int,
  unknown int, next_attempt_at timestamptz, accepts_others boolean)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  first_id text := coalesce(owner_id, '');
  first_environment environment := coalesce(owner_environment, enum_first(NULL::environment));
BEGIN
  RETURN QUERY
  WITH RECURSIVE account AS (
    SELECT next.* FROM (
      SELECT w.organization_id, w.environment, w.account_id FROM refund_work AS w
      WHERE w.retrying_since IS NOT NULL
        AND (w.organization_id, w.environment, w.account_id) > (first_id, first_environment, '')
      ORDER BY w.organization_id, w.environment, w.account_id, w.retrying_since LIMIT 1
    ) AS next WHERE owner_id IS NULL OR (next.organization_id = owner_id AND next.environment = owner_environment)
    UNION ALL
    SELECT next.* FROM account CROSS JOIN LATERAL (
      SELECT w.organization_id, w.environment, w.account_id FROM refund_work AS w
      WHERE w.retrying_since IS NOT NULL
        AND (w.organization_id, w.environment, w.account_id) > (account.organization_id, account.environment, account.account_id)
      ORDER BY w.organization_id, w.environment, w.account_id, w.retrying_since LIMIT 1
    ) AS next WHERE owner_id IS NULL OR (next.organization_id = owner_id AND next.environment = owner_environment)
  )
  SELECT a.id, a.organization_id, a.environment, a.processor, a.name, trouble.*, CASE WHEN a.parent_id IS NULL THEN EXISTS (
    SELECT FROM (
      SELECT r.account_id, r.accepted_at FROM refund AS r
      WHERE r.organization_id = a.organization_id AND r.environment = a.environment
      ORDER BY r.created_at DESC, r.id DESC LIMIT 500
    ) AS newest WHERE newest.account_id = a.id AND newest.accepted_at > trouble.since)
  ELSE EXISTS (
    SELECT FROM (
      SELECT r.accepted_at FROM refund AS r WHERE r.account_id = a.id AND r.is_connected
      ORDER BY r.created_at DESC, r.id DESC LIMIT 50
    ) AS newest WHERE newest.accepted_at > trouble.since) END
  FROM (SELECT * FROM account LIMIT most) AS found
  JOIN processor_account AS a ON a.id = found.account_id
  CROSS JOIN LATERAL (
    SELECT min(w.retrying_since) AS since, count(*)::int AS refunds, count(w.unknown_since)::int AS unknown,
      coalesce(min(w.due_at) FILTER (WHERE w.due_at > moment), max(w.due_at)) AS next_attempt_at
    FROM (
      SELECT * FROM refund_work AS w
      WHERE w.retrying_since IS NOT NULL
        AND w.organization_id = a.organization_id AND w.environment = a.environment AND w.account_id = a.id
      ORDER BY w.retrying_since LIMIT most_refunds
    ) AS w
    WHERE NOT (w.attempt_started_at IS NOT NULL AND w.leased_until > moment)
      AND COALESCE(w.flag_reason NOT IN ('account_unusable', 'answer_unreadable'), true)
  ) AS trouble
  WHERE trouble.refunds > 0;
END
$$;
