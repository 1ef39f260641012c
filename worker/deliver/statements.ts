import { type Database, Prisma } from '#shared/platform/database.ts';
import { erasedText } from '#shared/platform/erasure.ts';
import type { StoredAttempt } from '#shared/webhooks/deliveries.ts';
import {
  type ContentRow,
  contentColumns,
  contentFrom,
  type DeliveryContent,
  joinContent,
} from '#shared/webhooks/delivery-content.ts';
import type { SealedSecrets } from '#shared/webhooks/endpoint-secrets.ts';
import { attemptTimeoutMs } from './transport.ts';

// The lookups by key are laterals and subqueries with OFFSET 0, or equalities with an array, which the planner takes as they are. It
// would otherwise join whole tables while it has no statistics.

/** A delivery under a worker's lease, with everything that its request needs. The attempt is written. */
export interface DeliveryClaim extends DeliveryContent {
  deliveryId: string;
  /** 1 for the first attempt. */
  attemptNumber: number;
  /** Null for an event that is about no refund. */
  refundId: string | null;
  url: string;
  endpoint: SealedSecrets;
}

/** How an attempt ended. */
export interface AttemptResult
  extends Pick<StoredAttempt, 'durationMs' | 'responseStatus' | 'responseBody' | 'error'> {
  deliveryId: string;
  attemptNumber: number;
  /** Where the request was sent. */
  url: string;
  /** How long the request waited for those of earlier events after the attempt was written. */
  waitedMs: number;
  /** Null when no further attempt is scheduled. */
  retryInMs: number | null;
  /** True when the endpoint asks for no more events. */
  isGone: boolean;
}

/** What a record says of the endpoint of a delivery that still exists. */
export interface RecordedDelivery {
  deliveryId: string;
  endpointId: string;
  /** Whether the endpoint is enabled and still has the URL of the attempt. */
  maySendMore: boolean;
  /** Set when this record disabled the endpoint. */
  disabledReason: 'gone' | 'failing' | null;
}

/** Longer than an attempt, and the statements before and after it, can last. */
const leaseMs = attemptTimeoutMs + 15_000;

/** New events of a refund that are leased together, each for a lease longer than the one before. The others follow as these end. */
const mostTurns = 3;

/** Attempts for one endpoint that may be under way at once, in all workers. */
const mostPerEndpoint = 25;

/** Few while it fails, because each attempt may last until the timeout. */
const perEndpoint = Prisma.sql`CASE WHEN w.failing_since IS NULL THEN ${mostPerEndpoint}::int ELSE 5 END`;

/** How many attempts of the endpoint `w` are under way, at `clock.moment`. */
const underWay = Prisma.sql`(
  SELECT count(*) FROM webhook_delivery AS busy
  WHERE busy.endpoint_id = w.id AND busy.next_attempt_at IS NOT NULL AND busy.leased_until > clock.moment)`;

/**
 * Whether the first attempt of an earlier event of the refund has not ended. Retries do not count. An attempt whose worker died
 * has not ended, so the next attempt of that delivery counts instead.
 */
function isBehind(row: 'event' | 'd', endpointId: 'w.id' | 'd.endpoint_id'): Prisma.Sql {
  const [refundId, position] = [Prisma.raw(`${row}.refund_id`), Prisma.raw(`${row}.position`)];
  return Prisma.sql`EXISTS (
    SELECT FROM (
      SELECT status, attempts FROM webhook_delivery AS earlier
      WHERE earlier.refund_id = ${refundId} AND earlier.endpoint_id = ${Prisma.raw(endpointId)} AND earlier.position < ${position}
      OFFSET 0) AS earlier
    WHERE earlier.status = 'pending' AND NOT earlier.attempts @? '$[*].durationMs')`;
}

/** Reads the claims of the deliveries that a statement leased, `leased`. */
const claimsOfLeased = Prisma.sql`
  SELECT ${contentColumns}, d.id AS "deliveryId", (d.attempts->-1->>'number')::int AS "attemptNumber",
    d.refund_id AS "refundId", w.url, w.id AS "endpointId",
    w.encrypted_secret AS "encryptedSecret", w.encrypted_previous_secret AS "encryptedPreviousSecret",
    w.previous_secret_expires_at AS "previousSecretExpiresAt", w.encryption_key_id AS "encryptionKeyId"
  FROM leased AS d
  CROSS JOIN LATERAL (SELECT * FROM webhook_endpoint WHERE id = d.endpoint_id OFFSET 0) AS w
  ${joinContent}
  WHERE d.leased_until IS NOT NULL
  ORDER BY d.position`;

type ClaimRow = Omit<DeliveryClaim, 'endpoint' | 'event'> &
  Omit<SealedSecrets, 'id'> & { endpointId: string } & ContentRow;

function claimFrom(row: ClaimRow): DeliveryClaim {
  const { deliveryId, attemptNumber, refundId, url } = row;
  const endpoint = { ...row, id: row.endpointId };
  return { deliveryId, attemptNumber, refundId, url, endpoint, ...contentFrom(row) };
}

/**
 * Makes the deliveries of the events of some positions and moves the cursor behind them. An event goes to the endpoints of its
 * organization and environment that are enabled now and whose filter includes its type, also to one that was created a moment
 * after the event. Those that may start now are made with their first lease. Does nothing when another worker is making
 * them.
 * @param reached where the cursor was before `upto` was known to be settled: this statement must see what came before.
 * @param most how many to lease; the first of each endpoint come before the second ones.
 * @returns what was leased: the deliveries of one refund to one endpoint together, in the order in which they are to be sent.
 */
export async function createDeliveriesBetween(
  db: Database,
  { reached, upto, most }: { reached: bigint; upto: bigint; most: number },
): Promise<DeliveryClaim[][]> {
  const rows = await db.$queryRaw<ClaimRow[]>`
    WITH clock AS MATERIALIZED (
      SELECT id, service_time() AS moment FROM webhook_cursor WHERE position = ${reached} FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE webhook_cursor AS c SET position = ${upto} FROM clock WHERE c.id = clock.id
    ), addressed AS MATERIALIZED (
      SELECT event.id AS event_id, event.type, event.refund_id, event.position, w.id AS endpoint_id, w.failing_since, clock.moment,
        row_number() OVER (PARTITION BY w.id, event.refund_id ORDER BY event.position) AS turn,
        ${isBehind('event', 'w.id')} AS is_behind
      FROM clock
      JOIN refund_event AS event ON event.position > ${reached} AND event.position <= ${upto}
      CROSS JOIN LATERAL (
        SELECT * FROM webhook_endpoint
        WHERE organization_id = event.organization_id AND environment = event.environment AND status = 'enabled'
          AND (event.type = ANY (events) OR '*' = ANY (events))
        OFFSET 0) AS w
    ), free AS MATERIALIZED (
      SELECT w.id, ${perEndpoint} - ${underWay} AS places
      FROM clock, (SELECT DISTINCT endpoint_id AS id, failing_since FROM addressed) AS w
    ), placed AS (
      SELECT *, row_number() OVER (PARTITION BY endpoint_id ORDER BY is_behind, turn, position) AS place FROM addressed
    ), startable AS (
      SELECT w.*, NOT is_behind AND turn <= ${mostTurns} AND place <= free.places AS may_start
      FROM placed AS w JOIN free ON free.id = w.endpoint_id
    ), chosen AS (
      SELECT *, CASE WHEN may_start AND row_number() OVER (ORDER BY NOT may_start, place, position) <= ${most}
        THEN moment + turn * ${leaseMs} * interval '1 millisecond' END AS lease_end
      FROM startable
    ), leased AS (
      INSERT INTO webhook_delivery
        (id, endpoint_id, event_id, type, refund_id, position, next_attempt_at, leased_until, attempts, created_at)
      SELECT new_type_id('del', moment), endpoint_id, event_id, type, refund_id, position, coalesce(lease_end, moment), lease_end,
        CASE WHEN lease_end IS NULL THEN '[]' ELSE jsonb_build_array(jsonb_build_object('number', 1, 'startedAt', moment)) END, moment
      FROM chosen
      ON CONFLICT DO NOTHING
      RETURNING *
    )
    ${claimsOfLeased}`;
  const inOrder = new Map<string, DeliveryClaim[]>();
  for (const claim of rows.map(claimFrom)) {
    const key = `${claim.endpoint.id} ${claim.refundId}`;
    const claims = inOrder.get(key);
    if (claims === undefined) inOrder.set(key, [claim]);
    else claims.push(claim);
  }
  return [...inOrder.values()];
}

/**
 * Leases what may start now: the longest due deliveries of each endpoint, up to its limit of concurrent attempts, and writes
 * their attempts. One whose earlier worker died has that attempt marked as interrupted. Ends those of a disabled endpoint instead.
 * @param wakeUps looks at the endpoints of these deliveries; null for all.
 * @param most how many; the first of each endpoint come before the second ones.
 */
export async function claimDue(
  db: Database,
  wakeUps: readonly string[] | null,
  most: number,
): Promise<DeliveryClaim[]> {
  const endpoints =
    wakeUps === null
      ? Prisma.sql`(
          SELECT * FROM webhook_endpoint WHERE id = ANY (ARRAY(SELECT endpoint_id FROM pending)))`
      : Prisma.sql`(
          SELECT * FROM webhook_endpoint WHERE id = ANY (ARRAY(
            SELECT endpoint_id FROM webhook_delivery WHERE id = ANY (${[...wakeUps]}::text[]))))`;
  const dueWhere = (lease: 'd.leased_until IS NULL' | 'd.leased_until <= clock.moment') => Prisma.sql`(
    SELECT d.id, d.next_attempt_at FROM webhook_delivery AS d
    WHERE d.endpoint_id = w.id AND ${Prisma.raw(lease)} AND d.next_attempt_at <= clock.moment
      AND NOT ${isBehind('d', 'd.endpoint_id')}
    ORDER BY d.leased_until, d.next_attempt_at, d.position LIMIT greatest(free.places, 0))`;
  const rows = await db.$queryRaw<ClaimRow[]>`
    WITH RECURSIVE clock AS MATERIALIZED (SELECT service_time() AS moment),
    -- Steps from endpoint to endpoint of the index, without those that have nothing pending.
    pending AS (
      (${nextPending(Prisma.sql`''`)})
      UNION ALL SELECT next.endpoint_id FROM pending CROSS JOIN LATERAL (${nextPending(Prisma.sql`pending.endpoint_id`)}) AS next
    ), due AS MATERIALIZED (
      SELECT due.id FROM clock
      CROSS JOIN ${endpoints} AS w
      CROSS JOIN LATERAL (SELECT ${perEndpoint} - ${underWay} AS places) AS free
      CROSS JOIN LATERAL (
        SELECT id, next_attempt_at, row_number() OVER () AS place
        FROM (${dueWhere('d.leased_until <= clock.moment')} UNION ALL ${dueWhere('d.leased_until IS NULL')}) AS found
        LIMIT greatest(free.places, 0)) AS due
      ORDER BY due.place, due.next_attempt_at LIMIT ${most}
    ), held AS MATERIALIZED (
      SELECT d.id, w.status = 'enabled' AS is_enabled, clock.moment,
        CASE WHEN w.status = 'enabled' THEN clock.moment + ${leaseMs} * interval '1 millisecond' END AS lease_end,
        CASE WHEN d.leased_until IS NULL THEN d.attempts
          ELSE jsonb_set(d.attempts, '{-1,error}', '"interrupted"') END AS attempts
      FROM clock, webhook_delivery AS d CROSS JOIN LATERAL (
        SELECT status FROM webhook_endpoint WHERE id = d.endpoint_id OFFSET 0) AS w
      WHERE d.id = ANY (ARRAY(SELECT id FROM due)) AND d.next_attempt_at <= clock.moment
        AND (d.leased_until IS NULL OR d.leased_until <= clock.moment)
      ORDER BY d.id FOR UPDATE OF d SKIP LOCKED
    ), leased AS (
      UPDATE webhook_delivery AS d SET
        status = CASE WHEN is_enabled THEN d.status ELSE 'failed' END,
        next_attempt_at = lease_end,
        leased_until = lease_end,
        attempts = CASE WHEN is_enabled THEN
          jsonb_path_query_array(held.attempts, '$[last - 18 to last]') || jsonb_build_object(
            'number', coalesce((held.attempts->-1->>'number')::int, 0) + 1, 'startedAt', moment)
          ELSE held.attempts END
      FROM held
      WHERE d.id = held.id
      RETURNING d.*
    )
    ${claimsOfLeased}`;
  return rows.map(claimFrom);
}

/** The endpoint that comes after another one in the index of pending deliveries. */
function nextPending(endpointId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`SELECT endpoint_id FROM webhook_delivery
    WHERE next_attempt_at IS NOT NULL AND endpoint_id > ${endpointId} ORDER BY endpoint_id LIMIT 1`;
}

/** Whether an answer disables the endpoint `w`. */
const isDisabled = Prisma.sql`(is_gone OR NOT succeeds AND w.failing_since <= clock.moment - interval '5 days') IS TRUE`;

/**
 * Records how attempts ended, and what follows for the deliveries and their endpoints. Only the last attempt of a delivery
 * decides about it: a worker whose lease was lost changes nothing but its own attempt. What an erasure has put in the place of a
 * response stays, and a response to what an erasure has erased meanwhile is not stored.
 *
 * A delivery that succeeded ends, also if its endpoint was disabled meanwhile. One that failed is due again after `retryInMs`,
 * or at once if another attempt was requested meanwhile or the endpoint has another URL by now. An endpoint that answers that it is
 * gone, or that fails five days or more after the first of its consecutive failures, is disabled; answers from an earlier URL do not
 * count. The caller ends its pending deliveries, of which there may be many.
 */
export async function recordAttempts(
  db: Database,
  results: readonly AttemptResult[],
): Promise<RecordedDelivery[]> {
  const items = results.map(({ durationMs, responseStatus, responseBody, error, ...item }) => ({
    ...item,
    isSuccess: error === null,
    result: { durationMs, responseStatus, responseBody, error },
  }));
  return await db.$queryRaw<RecordedDelivery[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    item AS MATERIALIZED (
      -- The last one of a delivery.
      SELECT DISTINCT ON ("deliveryId") "deliveryId" AS id, "attemptNumber" AS number, url, "waitedMs" AS waited_ms,
        "retryInMs" AS retry_in_ms, "isGone" AS is_gone, "isSuccess" AS is_success, jsonb_strip_nulls(result) AS result
      FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS i("deliveryId" text, "attemptNumber" int, url text, "waitedMs" int,
        "retryInMs" bigint, "isGone" boolean, "isSuccess" boolean, result jsonb)
      ORDER BY "deliveryId", "attemptNumber" DESC
    ), known AS MATERIALIZED (
      SELECT item.*, d.endpoint_id, w.url = item.url AS is_current, erased.until AS erased_until FROM item
      CROSS JOIN LATERAL (SELECT endpoint_id, refund_id FROM webhook_delivery WHERE id = item.id OFFSET 0) AS d
      CROSS JOIN LATERAL (SELECT organization_id, url FROM webhook_endpoint WHERE id = d.endpoint_id OFFSET 0) AS w
      -- An attempt that began until then may have sent what was erased: an erasure is dated at its start and lasts less than a minute.
      CROSS JOIN LATERAL (
        SELECT max(created_at) + interval '1 minute' AS until FROM (
          SELECT action, created_at FROM audit_log
          WHERE organization_id = w.organization_id AND target = d.refund_id AND item.result ? 'responseBody' OFFSET 0) AS entry
        WHERE action = 'refund.erased') AS erased
    ), answer AS (
      SELECT endpoint_id AS id, bool_or(is_success) AS succeeds, bool_or(is_gone) AS is_gone FROM known
      WHERE is_current GROUP BY endpoint_id
    ), changed AS (
      UPDATE webhook_endpoint AS w SET
        failing_since = CASE WHEN NOT succeeds AND NOT ${isDisabled} THEN clock.moment END,
        status = CASE WHEN ${isDisabled} THEN 'disabled' ELSE w.status END,
        disabled_reason = CASE WHEN ${isDisabled} THEN CASE WHEN is_gone THEN 'gone' ELSE 'failing' END END,
        updated_at = CASE WHEN ${isDisabled} THEN clock.moment ELSE w.updated_at END
      FROM clock, answer
      -- Most records change no endpoint.
      WHERE w.id = ANY (ARRAY[answer.id]) AND w.status = 'enabled' AND ((w.failing_since IS NOT NULL) = succeeds OR ${isDisabled})
      RETURNING w.id, w.organization_id, w.environment, w.disabled_reason, clock.moment
    ), audited AS (
      INSERT INTO audit_log (id, organization_id, actor, action, target, detail, created_at)
      SELECT new_type_id('aud', moment), organization_id, 'worker', 'webhook_endpoint.disabled', id,
        jsonb_build_object('environment', environment, 'reason', disabled_reason), moment
      FROM changed WHERE disabled_reason IS NOT NULL
    ), held AS MATERIALIZED (
      SELECT d.id, d.attempts, d.status, d.leased_until, d.next_attempt_at FROM webhook_delivery AS d
      WHERE d.id = ANY (ARRAY(SELECT id FROM known))
        -- Endpoints before deliveries, and these by their ids: every statement locks in this order.
        AND (SELECT count(*) FROM changed) >= 0
      ORDER BY d.id FOR UPDATE
    ), ended AS (
      SELECT held.*, known.is_success, (held.attempts->-1->>'number')::int = known.number AS is_last,
        CASE WHEN held.next_attempt_at IS DISTINCT FROM held.leased_until THEN held.next_attempt_at
          WHEN NOT known.is_current THEN clock.moment
          ELSE clock.moment + known.retry_in_ms * interval '1 millisecond' END AS due_at,
        ARRAY(SELECT CASE WHEN (attempt->>'number')::int <> known.number THEN attempt
          ELSE known.result
            || CASE WHEN (attempt->>'startedAt')::timestamptz <= erased_until
              THEN jsonb_build_object('responseBody', ${erasedText}::text) ELSE '{}' END
            || (attempt - 'error') || jsonb_build_object(
            'startedAt', (attempt->>'startedAt')::timestamptz + known.waited_ms * interval '1 millisecond') END
          FROM jsonb_array_elements(held.attempts) AS attempt) AS with_result
      FROM clock, held JOIN known USING (id)
    ), recorded AS (
      UPDATE webhook_delivery AS d SET
        attempts = to_jsonb(with_result),
        leased_until = CASE WHEN NOT is_last THEN ended.leased_until END,
        status = CASE
          WHEN NOT is_last THEN ended.status
          WHEN is_success THEN 'succeeded'
          WHEN ended.status = 'pending' AND due_at IS NOT NULL THEN 'pending'
          ELSE 'failed' END,
        next_attempt_at = CASE
          WHEN NOT is_last THEN ended.next_attempt_at
          WHEN NOT is_success AND ended.status = 'pending' THEN due_at END
      FROM ended WHERE d.id = ended.id
    )
    SELECT known.id AS "deliveryId", known.endpoint_id AS "endpointId", changed.disabled_reason AS "disabledReason",
      w.status = 'enabled' AND changed.disabled_reason IS NULL AND known.is_current AS "maySendMore"
    FROM known JOIN webhook_endpoint AS w ON w.id = ANY (ARRAY[known.endpoint_id]) LEFT JOIN changed ON changed.id = known.endpoint_id`;
}

/** Gives back deliveries that were leased and not sent: they are due again, and the attempts that were written are removed. */
export async function releaseDeliveries(
  db: Database,
  claims: readonly Pick<DeliveryClaim, 'deliveryId' | 'attemptNumber'>[],
): Promise<void> {
  const items = claims.map(({ deliveryId, attemptNumber }) => ({ deliveryId, attemptNumber }));
  await db.$executeRaw`
    WITH unsent AS (
      SELECT d.id FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS i("deliveryId" text, "attemptNumber" int)
      JOIN webhook_delivery AS d ON d.id = ANY (ARRAY[i."deliveryId"])
      WHERE (d.attempts->-1->>'number')::int = i."attemptNumber" AND NOT d.attempts->-1 ? 'durationMs'
      ORDER BY d.id FOR UPDATE OF d)
    UPDATE webhook_delivery AS d SET
      attempts = d.attempts - -1,
      leased_until = NULL,
      next_attempt_at = CASE WHEN d.status = 'pending' THEN service_time() END
    FROM unsent WHERE d.id = unsent.id`;
}
