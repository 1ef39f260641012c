-- Claims due refunds of a processor, up to `most`, for one call each, as lease_refunds.sql says. Concurrent workers share the work.
--
-- An account with credentials, together with those that are connected to it, has at most `account_most` refunds under lease, over all
-- workers. Each operation of each of them gets the calls that grant_calls.sql grants. Its longest due refunds are taken first; among these,
-- it and those connected to it take turns. Where the limit of an operation leaves out some of these, its latest due ones are looked at, too,
-- for which other operations may be called. Accounts with credentials take turns: none gets a second place in a claim before each other one
-- has got its first. They begin after `after_account`, an account's id: the `last_account` of the caller's claim before, or NULL.
--
-- Returns one row, or none if nothing may be sent (may_advance.sql says what `reached` is):
--   claims        a JSON array with an element for each refund that was claimed, and null for each one that was postponed
--   last_account  the account to go on after
--   is_waiting    more is due than was looked at: of an account that has all its places or calls, or of accounts after the last one
CREATE OR REPLACE FUNCTION claim_due_refunds(
  named_processor text, most int, lease_ms int, reached jsonb, account_most int, per_second jsonb, after_account text)
RETURNS TABLE (claims json, last_account text, is_waiting boolean)
LANGUAGE plpgsql
-- Keep one plan: the planner would plan again for each number of refunds. In the order of the indexes: the table is usually next to
-- empty, and a plan from such a time would read and sort all of it in a backlog.
SET plan_cache_mode = force_generic_plan SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  first_account record;
  account record;
  line record;
  candidates text[] := '{}';
  places int[] := '{}';
  found_accounts int := 0;
  free_places int;
  called text[];
  latest text[];
  early text[] := '{}';
  early_at timestamptz[] := '{}';
  held text[];
  calls record;
BEGIN
  IF NOT may_advance(reached, moment) THEN
    RETURN;
  END IF;
  last_account := after_account;
  is_waiting := false;
  -- The order of the index is by their owners. Before all of them, if there is none or it is gone.
  SELECT coalesce(max(a.organization_id), '') AS organization_id, coalesce(max(a.environment), 'live') AS environment,
    coalesce(max(a.id), '') AS account_id
  INTO first_account FROM processor_account AS a WHERE a.id = after_account;

  FOR account IN
    WITH RECURSIVE longest AS MATERIALIZED (
      SELECT w.organization_id, w.environment, coalesce(w.parent_id, w.account_id) AS account_id FROM refund_work AS w
      WHERE w.processor = named_processor AND w.due_at <= moment ORDER BY w.due_at LIMIT 500
    ), size AS MATERIALIZED (
      SELECT count(*) AS due FROM longest
    ), known AS (
      SELECT DISTINCT organization_id, environment, account_id FROM longest
    -- More is due than that, maybe all of one account: first go from account to account in the index, at most once around.
    ), walk AS (
      SELECT first_account.organization_id, first_account.environment, first_account.account_id, NULL::timestamptz AS due_at, 0 AS steps,
        false AS is_around
      FROM size WHERE size.due = 500
      UNION ALL
      SELECT next.organization_id, next.environment, next.account_id, next.due_at, walk.steps + 1, walk.is_around OR next.is_first
      FROM walk CROSS JOIN LATERAL (
        (SELECT w.organization_id, w.environment, coalesce(w.parent_id, w.account_id) AS account_id, w.due_at, false AS is_first
          FROM refund_work AS w
          WHERE w.processor = named_processor
            AND (w.organization_id, w.environment, coalesce(w.parent_id, w.account_id))
              > (walk.organization_id, walk.environment, walk.account_id)
          ORDER BY w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at LIMIT 1)
        UNION ALL
        (SELECT w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at, true
          FROM refund_work AS w
          WHERE w.processor = named_processor AND NOT walk.is_around
          ORDER BY w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at LIMIT 1)
        LIMIT 1
      ) AS next
      WHERE walk.steps < 200 AND (NOT (walk.is_around OR next.is_first)
        OR (next.organization_id, next.environment, next.account_id)
          <= (first_account.organization_id, first_account.environment, first_account.account_id))
    )
    SELECT organization_id, environment, account_id, steps = 200 AS is_cut, true AS is_next FROM walk
    WHERE due_at <= moment OR steps = 200
    UNION ALL
    (SELECT known.*, false, size.due < 500 FROM size CROSS JOIN known
      WHERE NOT EXISTS (SELECT FROM walk WHERE steps > 0 AND walk.account_id = known.account_id)
      ORDER BY (organization_id, environment, account_id)
        <= (first_account.organization_id, first_account.environment, first_account.account_id), organization_id, environment, account_id)
  LOOP
    IF account.is_next THEN
      last_account := account.account_id;
    END IF;
    is_waiting := is_waiting OR account.is_cut;
    -- A lease is among the first: what is due is claimed in this order, and keeps its place from one step to the next. Only what was
    -- created at that very moment may come before it; a statement creates a hundred.
    SELECT count(*) FILTER (WHERE due.is_leased) AS leases,
      coalesce(array_agg(due.refund_id ORDER BY due.place, due.due_at, due.refund_id) FILTER (WHERE NOT due.is_leased), '{}') AS free,
      coalesce(array_agg(due.refund_id ORDER BY due.due_at, due.refund_id) FILTER (WHERE NOT due.is_leased), '{}') AS in_order,
      min(due.due_at) FILTER (WHERE NOT due.is_leased) AS first_due_at
    INTO line FROM (
      SELECT *, row_number() OVER (PARTITION BY head.account_id ORDER BY NOT head.is_leased, head.due_at, head.refund_id) AS place
      FROM (
        SELECT w.refund_id, w.account_id, w.due_at, coalesce(w.leased_until > moment, false) AS is_leased FROM refund_work AS w
        -- The whole key of the index, so that no other one has this order.
        WHERE w.processor = named_processor
          AND (w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at)
            >= (account.organization_id, account.environment, account.account_id, '-infinity')
          AND (w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at)
            <= (account.organization_id, account.environment, account.account_id, moment)
        ORDER BY w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at, w.refund_id LIMIT account_most + 100
      ) AS head
    ) AS due;
    free_places := least(account_most - line.leases, most);
    is_waiting := is_waiting OR cardinality(line.free) > account_most - line.leases;
    CONTINUE WHEN line.free = '{}' OR free_places <= 0;
    line.free := line.free[:free_places];
    -- Taken before others of the line, as the latest are.
    latest := ARRAY(SELECT id FROM unnest(line.free) AS id WHERE id <> ALL (line.in_order[:free_places]));
    early := early || latest;
    early_at := early_at || array_fill(line.first_due_at, ARRAY[cardinality(latest)]);
    called := callable_due_refunds(line.free, per_second, moment);
    IF cardinality(called) < cardinality(line.free) THEN
      is_waiting := true;
      latest := ARRAY (
        SELECT w.refund_id FROM refund_work AS w
        WHERE w.processor = named_processor
          AND (w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at)
            >= (account.organization_id, account.environment, account.account_id, '-infinity')
          AND (w.organization_id, w.environment, coalesce(w.parent_id, w.account_id), w.due_at)
            <= (account.organization_id, account.environment, account.account_id, moment)
          AND (w.leased_until IS NULL OR w.leased_until <= moment) AND w.refund_id <> ALL (line.free)
        ORDER BY w.organization_id DESC, w.environment DESC, coalesce(w.parent_id, w.account_id) DESC, w.due_at DESC, w.refund_id DESC
        LIMIT 20);
      called := (callable_due_refunds(line.free || latest, per_second, moment))[:free_places];
      early := early || latest;
      early_at := early_at || array_fill(line.first_due_at, ARRAY[cardinality(latest)]);
    END IF;
    CONTINUE WHEN called = '{}';
    candidates := candidates || called;
    places := places || ARRAY(SELECT generate_series(1, cardinality(called)));
    found_accounts := found_accounts + 1;
    IF found_accounts = most THEN
      is_waiting := true;
      EXIT;
    END IF;
  END LOOP;

  held := ARRAY (
    SELECT locked.refund_id
    FROM (SELECT * FROM unnest(candidates, places) WITH ORDINALITY AS c(refund_id, place, turn) ORDER BY place, turn) AS candidate
    CROSS JOIN LATERAL (
      SELECT w.refund_id, w.due_at, w.leased_until FROM refund_work AS w WHERE w.refund_id = candidate.refund_id
      FOR UPDATE SKIP LOCKED
    ) AS locked
    WHERE locked.due_at <= moment AND (locked.leased_until IS NULL OR locked.leased_until <= moment)
    LIMIT most);
  -- Not earlier than what was recorded while the candidates were found.
  moment := service_time();
  -- Separate statements, because they must see what was committed before the rows were locked.
  SELECT * INTO calls FROM grant_calls(held, per_second, moment);
  is_waiting := is_waiting OR cardinality(calls.granted) + cardinality(calls.postponed) < cardinality(held);
  claims := (SELECT coalesce(json_agg(claim), '[]') FROM (
    SELECT l.claim FROM lease_refunds(calls.granted, moment, lease_ms) AS l
    UNION ALL SELECT NULL FROM unnest(calls.postponed)
  ) AS looked_at);
  -- To the head of what is due, so that their leases are counted there.
  -- Found with an array: see continue_refund_works.sql.
  UPDATE refund_work AS w SET due_at = e.first_due_at - interval '1 millisecond'
  FROM unnest(early, early_at) AS e(refund_id, first_due_at)
  WHERE e.refund_id = ANY (calls.granted) AND w.refund_id = ANY (ARRAY[e.refund_id]);
  RETURN NEXT;
END
$$;
