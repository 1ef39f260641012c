import { type Database, Prisma } from '#shared/platform/database.ts';
import {
  type ContentRow,
  contentColumns,
  contentFrom,
  type DeliveryContent,
  joinContent,
} from '#shared/webhooks/delivery-content.ts';
import type { SealedSecrets } from '#shared/webhooks/endpoint-secrets.ts';
import { attemptTimeoutMs } from './transport.ts';

// OFFSET 0, and an equality with an array, make the planner look up row by row. It would otherwise begin with all endpoints or deliveries,
// because a kept plan is from when there were hardly any.

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
    ), locked AS MATERIALIZED (
      SELECT d.id, w.status = 'enabled' AS is_enabled, clock.moment,
        CASE WHEN w.status = 'enabled' THEN clock.moment + ${leaseMs} * interval '1 millisecond' END AS lease_end,
        CASE WHEN d.leased_until IS NULL THEN d.attempts
          ELSE jsonb_set(d.attempts, '{-1,error}', '"interrupted"') END AS attempts
      FROM clock, webhook_delivery AS d CROSS JOIN LATERAL (
        SELECT status FROM webhook_endpoint WHERE id = d.endpoint_id) AS w
      WHERE d.id = ANY (ARRAY(SELECT id FROM due)) AND d.next_attempt_at <= clock.moment
        AND (d.leased_until IS NULL OR d.leased_until <= clock.moment)
      ORDER BY d.id FOR UPDATE OF d SKIP LOCKED
    ), leased AS (
      UPDATE webhook_delivery AS d SET
        status = CASE WHEN is_enabled THEN d.status ELSE 'failed' END,
        next_attempt_at = lease_end,
        leased_until = lease_end,
        attempts = CASE WHEN is_enabled THEN
          jsonb_path_query_array(locked.attempts, '$[last - 18 to last]') || jsonb_build_object(
            'number', coalesce((locked.attempts->-1->>'number')::int, 0) + 1, 'startedAt', moment)
          ELSE locked.attempts END
      FROM locked
      WHERE d.id = locked.id
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
