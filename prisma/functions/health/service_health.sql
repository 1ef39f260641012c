-- The state of the whole service, for metrics and readiness: one statement, at a cost that is limited whatever the backlog.
--
-- processors        the names of all processors
-- most              refunds that are counted per processor and state, and organizations and endpoints that are looked at
--
-- workers           how many were seen lately, when the last one was seen (null when there was none), and since when they send nothing
--                   until a recovery (null when they may send)
-- work              per processor and environment: due refunds, those that are due later, and since when the longest due one is that
--                   no worker has under lease
-- flagged, pending  refunds per processor and environment that are flagged, and that await approval
-- misconfigured     accounts whose credentials are refused, or one of their abilities, per processor and environment, as
--                   watches_account.sql says; not for refused webhooks, which strangers can send
-- accounts          as accounts_in_trouble returns them
-- undelivered_since when the oldest event was created that was not delivered to an endpoint that accepts events; null without one
CREATE OR REPLACE FUNCTION service_health(processors text[], alive_ms int, most int) RETURNS json
LANGUAGE plpgsql
AS $$
DECLARE
  moment timestamptz := service_time();
  -- Called here, because it waits for no other session and must see the present cursor.
  settled bigint := settled_event_position();
BEGIN
  RETURN (
    WITH RECURSIVE work AS MATERIALIZED (
      SELECT name AS processor, each.environment, count(*) FILTER (WHERE is_due) AS due, count(*) FILTER (WHERE NOT is_due) AS later,
        min(due_at) FILTER (WHERE is_due AND NOT is_leased) AS due_since
      FROM unnest(processors) AS name
      CROSS JOIN LATERAL (
        (SELECT w.environment, w.due_at, true AS is_due, coalesce(w.leased_until > moment, false) AS is_leased FROM refund_work AS w
        WHERE w.processor = name AND w.due_at <= moment ORDER BY w.due_at LIMIT most)
        UNION ALL
        (SELECT w.environment, w.due_at, false, false FROM refund_work AS w
        WHERE w.processor = name AND w.due_at > moment ORDER BY w.due_at LIMIT most)
      ) AS each GROUP BY 1, 2
    ), flagged AS MATERIALIZED (
      SELECT processor, environment, count(*) AS refunds FROM (
        SELECT w.processor, w.environment FROM refund_work AS w WHERE w.flagged_at IS NOT NULL
        ORDER BY w.organization_id, w.environment, w.flagged_at, w.refund_id LIMIT most
      ) AS each GROUP BY 1, 2
    ), owner AS (
      (SELECT r.organization_id, r.environment FROM refund AS r WHERE r.status <> 'completed'
      ORDER BY r.organization_id, r.environment, r.status, r.created_at, r.id LIMIT 1)
      UNION ALL
      SELECT next.* FROM owner CROSS JOIN LATERAL (
        SELECT r.organization_id, r.environment FROM refund AS r
        WHERE r.status <> 'completed' AND (r.organization_id, r.environment) > (owner.organization_id, owner.environment)
        ORDER BY r.organization_id, r.environment, r.status, r.created_at, r.id LIMIT 1) AS next
    ), pending AS MATERIALIZED (
      SELECT processor, environment, count(*) AS refunds FROM (
        SELECT each.processor, each.environment FROM (SELECT * FROM owner LIMIT most) AS o
        CROSS JOIN LATERAL (
          SELECT r.processor, r.environment FROM refund AS r
          WHERE r.organization_id = o.organization_id AND r.environment = o.environment AND r.status = 'pending'
          ORDER BY r.created_at LIMIT most) AS each
        LIMIT most
      ) AS each GROUP BY 1, 2
    ), misconfigured AS MATERIALIZED (
      SELECT processor, environment, count(*) AS accounts FROM (
        SELECT a.processor, a.environment FROM processor_account AS a WHERE a.misconfigured_at IS NOT NULL AND watches_account(a)
          AND (a.abilities = '{}' OR jsonb_path_exists(a.abilities - 'webhooks', '$.* ? (@.state == "refused")'))
        ORDER BY a.processor, a.environment LIMIT most
      ) AS each GROUP BY 1, 2
    ), endpoint AS (
      (SELECT d.endpoint_id FROM webhook_delivery AS d WHERE d.next_attempt_at IS NOT NULL
      ORDER BY d.endpoint_id, d.leased_until, d.next_attempt_at, d.position LIMIT 1)
      UNION ALL
      SELECT next.* FROM endpoint CROSS JOIN LATERAL (
        SELECT d.endpoint_id FROM webhook_delivery AS d
        WHERE d.next_attempt_at IS NOT NULL AND d.endpoint_id > endpoint.endpoint_id
        ORDER BY d.endpoint_id, d.leased_until, d.next_attempt_at, d.position LIMIT 1) AS next
    ), undelivered AS (
      SELECT oldest.created_at FROM (SELECT endpoint_id FROM endpoint LIMIT most) AS e
      CROSS JOIN LATERAL (
        SELECT w.status, w.failing_since FROM webhook_endpoint AS w WHERE w.id = e.endpoint_id) AS w
      CROSS JOIN LATERAL (
        SELECT d.created_at FROM webhook_delivery AS d WHERE d.endpoint_id = e.endpoint_id AND d.status = 'pending'
        ORDER BY d.created_at, d.id LIMIT 1) AS oldest
      WHERE w.status = 'enabled' AND w.failing_since IS NULL
      UNION ALL
      SELECT next.created_at FROM webhook_cursor AS c CROSS JOIN LATERAL (
        SELECT e.created_at FROM refund_event AS e WHERE e.position > c.position AND e.position <= settled
        ORDER BY e.position LIMIT 1) AS next
    )
    SELECT json_build_object(
      'now', moment,
      'workers', (
        SELECT json_build_object(
          'alive', count(*) FILTER (WHERE seen_at > moment - alive_ms * interval '1 millisecond'), 'seenAt', max(seen_at),
          'heldSince', (SELECT required_since FROM recovery WHERE id = 1))
        FROM worker),
      'work', (
        SELECT coalesce(json_agg(json_build_object(
          'processor', processor, 'environment', environment, 'due', due, 'later', later, 'dueSince', due_since)), '[]') FROM work),
      'flagged', (SELECT coalesce(json_agg(flagged), '[]') FROM flagged),
      'pending', (SELECT coalesce(json_agg(pending), '[]') FROM pending),
      'misconfigured', (SELECT coalesce(json_agg(misconfigured), '[]') FROM misconfigured),
      'accounts', (SELECT coalesce(json_agg(a), '[]') FROM accounts_in_trouble(NULL, NULL, least(most, 1000), least(most, 1000)) AS a),
      'undeliveredSince', (SELECT min(created_at) FROM undelivered))
  );
END
$$;
