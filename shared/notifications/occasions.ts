import { mostCounted } from '../health/trouble.ts';
import { type Database, Prisma } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import type { Ability } from '../processors/contract/processor.ts';
import type { NotificationKind } from './kinds.ts';

/** What a notification is about: a state, and since when. */
export interface Occasion {
  kind: NotificationKind;
  /** The id of what it is about. */
  target: string;
  since: Date;
}

/** An occasion with what its message says. */
export type KnownOccasion = Occasion & Content;

type Content =
  | { about: 'approval'; amount: string; currency: string }
  | { about: 'flag'; reason: string; facts: Record<string, never>; processor: string }
  | { about: 'ability'; processor: string; name: string; ability: Ability | 'credentials' }
  /** `waitingFor`: what the longest retried of its refunds waits for. */
  | { about: 'processor'; processor: string; name: string; waitingFor: string | null }
  | { about: 'dispute'; transactionId: string }
  | { about: 'failing endpoint'; url: string }
  | { about: 'failing channel'; host: string }
  | { about: 'gone channel'; host: string }
  | { about: 'batch'; rejected: number }
  | { about: 'endpoint'; url: string; reason: string }
  | { about: 'key'; name: string; lastFour: string };

/** For how long a processor does not answer before a notification. */
export const unansweredMinutes = 5;

/** For how long an endpoint or a channel accepts nothing before it needs attention. */
export const failingMinutes = 60;

/**
 * All current states, of all organizations. `requester` gets no notification, because they may not act. A processor's account causes
 * one an hour at most, because the first of its refunds may end while it does not answer.
 */
const occasions = Prisma.sql`
  SELECT 'approvals' AS kind, id AS target, created_at AS since, organization_id, environment, requester,
    jsonb_build_object('about', 'approval', 'amount', amount::text, 'currency', currency) AS content
  FROM refund WHERE status = 'pending'
  UNION ALL
  SELECT 'attention', refund_id, flagged_at, organization_id, environment, NULL,
    jsonb_build_object('about', 'flag', 'reason', flag_reason, 'facts', flag_facts, 'processor', processor)
  FROM refund_work WHERE flagged_at IS NOT NULL
  UNION ALL
  -- The credentials alone, because every ability is refused with them.
  SELECT 'attention', a.id, (refused.value->>'since')::timestamptz(3), a.organization_id, a.environment, NULL,
    jsonb_build_object('about', 'ability', 'processor', a.processor, 'name', a.name, 'ability', refused.key)
  FROM processor_account AS a CROSS JOIN LATERAL jsonb_each(a.abilities) AS refused
  WHERE a.misconfigured_at IS NOT NULL AND watches_account(a) AND refused.value->>'state' = 'refused'
    AND (refused.key = 'credentials' OR NOT a.abilities ? 'credentials')
  UNION ALL
  SELECT 'attention', p.id::text, p.disputed_at, p.organization_id, p.environment, NULL,
    jsonb_build_object('about', 'dispute', 'transactionId', open.transaction_id)
  FROM payment AS p CROSS JOIN LATERAL (
    SELECT r.transaction_id FROM refund AS r WHERE r.payment_id = p.id AND r.status IN ('pending', 'processing')
    ORDER BY r.created_at LIMIT 1) AS open
  WHERE p.disputed_at > service_time() - interval '7 days'
  UNION ALL
  SELECT 'processors', t.account_id, date_trunc('hour', t.since), t.organization_id, t.environment, NULL,
    jsonb_build_object('about', 'processor', 'processor', t.processor, 'name', t.name, 'waitingFor', (
      SELECT w.waiting_for FROM refund_work AS w
      WHERE w.retrying_since IS NOT NULL
        AND w.organization_id = t.organization_id AND w.environment = t.environment AND w.account_id = t.account_id
      ORDER BY w.retrying_since LIMIT 1))
  FROM accounts_in_trouble(NULL, NULL, ${mostCounted}::int, ${mostCounted}::int) AS t
  WHERE NOT t.accepts_others
    AND t.since < least(service_time(), t.next_attempt_at) - ${unansweredMinutes} * interval '1 minute'
  UNION ALL
  SELECT 'webhooks', w.id, trouble.at, w.organization_id, w.environment, NULL,
    trouble.content || jsonb_build_object('url', w.url)
  FROM webhook_endpoint AS w CROSS JOIN LATERAL (
    SELECT max(created_at) AS at, jsonb_build_object('about', 'endpoint', 'reason', w.disabled_reason) AS content FROM audit_log
    WHERE organization_id = w.organization_id AND target = w.id AND action = 'webhook_endpoint.disabled'
      AND w.disabled_reason IN ('gone', 'failing')
    UNION ALL
    SELECT w.failing_since, jsonb_build_object('about', 'failing endpoint') WHERE w.status = 'enabled') AS trouble
  WHERE (w.disabled_reason IN ('gone', 'failing') OR w.failing_since <= service_time() - ${failingMinutes} * interval '1 minute')
    AND w.deleted_at IS NULL AND trouble.at IS NOT NULL
  UNION ALL
  SELECT 'webhooks', id, failing_since, organization_id, environment, NULL,
    jsonb_build_object('about', 'failing channel', 'host', host)
  FROM notification_channel WHERE failing_since <= service_time() - ${failingMinutes} * interval '1 minute'
  UNION ALL
  SELECT 'webhooks', id, gone_at, organization_id, environment, NULL, jsonb_build_object('about', 'gone channel', 'host', host)
  FROM notification_channel WHERE gone_at IS NOT NULL
  UNION ALL
  SELECT 'attention', id, completed_at, organization_id, environment, NULL,
    jsonb_build_object('about', 'batch', 'rejected', rejected_count)
  FROM refund_batch
  WHERE completed_at > service_time() - interval '7 days' AND seen_at IS NULL AND rejected_count > 0
  UNION ALL
  SELECT 'keys', id, created_at, organization_id, environment, NULL,
    jsonb_build_object('about', 'key', 'name', name, 'lastFour', last_four)
  FROM api_key WHERE created_at > service_time() - interval '1 day' AND revoked_at IS NULL`;

/** How long notifications gather before they are sent, in milliseconds: many at once are one message. */
export const gatheringMs = 60_000;

/** What one statement notes, so that none takes long. */
const mostNoted = 1_000;

/**
 * Stores a notification of each new state for each channel and each member that gets its kind, unless the member has declined it.
 * Members who join later get none for earlier states. Several workers may do so at the same time.
 * @param kindsByReader what the members of a role get, and what a `channel` gets.
 */
export async function noteOccasions(
  db: Database,
  kindsByReader: Readonly<Record<string, readonly NotificationKind[]>>,
): Promise<void> {
  const kinds = Prisma.sql`${JSON.stringify(kindsByReader)}::jsonb`;
  // Those of an occasion `o`, so that members of organizations where nothing is new are not read.
  const readers = Prisma.sql`
    SELECT m.user_id AS recipient FROM membership AS m JOIN "user" AS u ON u.id = m.user_id AND u.disabled_at IS NULL
    WHERE m.organization_id = o.organization_id AND ${kinds}->(m.role::text) ? o.kind AND o.kind <> ALL (m.declined_mails)
      AND 'user:' || m.user_id IS DISTINCT FROM o.requester
    UNION ALL
    SELECT c.id FROM notification_channel AS c
    WHERE c.organization_id = o.organization_id AND c.environment = o.environment AND ${kinds}->'channel' ? o.kind
      AND c.gone_at IS NULL`;
  await db.$executeRaw`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    unnoted AS MATERIALIZED (
      SELECT o.* FROM (${occasions}) AS o
      WHERE EXISTS (${readers})
        -- One by one: the planner would otherwise read the whole table.
        AND NOT EXISTS (
          SELECT FROM (
            SELECT FROM notification WHERE kind = o.kind AND target = o.target AND since = o.since OFFSET 0) AS known)
      LIMIT ${mostNoted}
    )
    INSERT INTO notification (id, kind, target, since, recipient, organization_id, environment, due_at, created_at)
    SELECT new_type_id('ntf', moment), o.kind, o.target, o.since, reader.recipient, o.organization_id, o.environment,
      moment + ${gatheringMs} * interval '1 millisecond', moment
    FROM clock, unnoted AS o CROSS JOIN LATERAL (${readers}) AS reader
    ON CONFLICT DO NOTHING`;
}

/** Those of some occasions that are still so, with what to say of them, the oldest first. */
export async function readOccasions(
  db: Database,
  wanted: readonly Occasion[],
): Promise<(KnownOccasion & { organizationId: string; environment: Environment })[]> {
  const items = wanted.map(({ kind, target, since }) => ({ kind, target, since }));
  const rows = await db.$queryRaw<
    (Occasion & { organizationId: string; environment: Environment; content: Content })[]
  >`
    SELECT o.kind, o.target, o.since, o.organization_id AS "organizationId", o.environment, o.content
    FROM (
      SELECT DISTINCT kind, target, since
      FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS i(kind text, target text, since timestamptz)) AS i
    JOIN (${occasions}) AS o USING (kind, target, since)
    ORDER BY o.since, o.target`;
  return rows.map(({ content, ...row }) => ({ ...row, ...content }));
}
