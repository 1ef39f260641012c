import type { ServiceSettings } from '../platform/config.ts';
import { type Database, serviceTime } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { maxReplayed } from './deliveries.ts';
import { auditEndpoint, type EndpointRequest, lockEnabledEndpoint } from './endpoint.ts';

/** Events that one statement takes, so that none takes long. */
const batchSize = 1_000;

const dayMs = 24 * 60 * 60 * 1000;

/** Longer than a transaction that adds events: until it commits, later ones may get earlier positions. */
const transactionMs = 60_000;

/**
 * Makes deliveries of the events since a time that match the filter of an endpoint and have none for it, such as those that happened
 * while it was disabled: in the order of the feed and at most `maxReplayed`. They are due now, and the sweep starts them like
 * others. Repeating it makes those that are still missing.
 * @returns how many; fewer when the endpoint is disabled meanwhile.
 * @throws ServiceError not_found for the endpoint; validation_error when it is disabled, and for a time from which the deliveries that
 * were made may be deleted already, because their events would be sent again.
 */
export async function replayMissing(
  { db, settings }: { db: Database; settings: ServiceSettings },
  request: EndpointRequest & { since: Date },
): Promise<number> {
  const { endpointId, since } = request;
  const keptDays = settings.WEBHOOK_RETENTION_DAYS;
  await db.$transaction(async (tx) => {
    await lockEnabledEndpoint(tx, request, endpointId);
    const now = await serviceTime(tx);
    if (since.getTime() < now.getTime() - keptDays * dayMs) {
      throw new ServiceError(
        'validation_error',
        `since: must be within the last ${keptDays} days, for which deliveries are kept. Read earlier events from GET /v1/events.`,
      );
    }
    await auditEndpoint(tx, 'webhook_endpoint.replayed', request, now, {
      since: since.toISOString(),
      status: 'missing',
    });
  });
  let { after, upto } = await findPositions(db, request, new Date(since.getTime() - transactionMs));
  let count = 0;
  while (after < upto && count < maxReplayed) {
    const most = Math.min(batchSize, maxReplayed - count);
    const made = await createMissing(db, { endpointId, since, after, upto, most });
    count += made.count;
    after = made.readTo ?? upto;
  }
  return count;
}

/**
 * The part of the feed that has an owner's events since a time. Times follow positions closely enough to halve the feed until only events
 * from before are left out.
 * @returns `upto`: the position up to which the deliveries of new events are made.
 */
async function findPositions(
  db: Database,
  { organizationId, environment }: RefundOwner,
  since: Date,
): Promise<{ after: bigint; upto: bigint }> {
  // Waits for a worker that began before the endpoint was enabled: it leaves out the endpoint, and moves the cursor when it ends.
  const [cursor] = await db.$queryRaw<
    { upto: bigint }[]
  >`SELECT position AS upto FROM webhook_cursor FOR SHARE`;
  if (cursor === undefined) throw new Error('webhook_cursor has no row');
  const { upto } = cursor;
  const [found] = await db.$queryRaw<{ after: bigint }[]>`
    WITH RECURSIVE search AS (
      SELECT 0::bigint AS low, ${upto}::bigint AS high
      UNION ALL
      SELECT CASE WHEN is_before THEN middle ELSE low END, CASE WHEN is_before THEN high ELSE middle END
      FROM search
      CROSS JOIN LATERAL (SELECT (low + high + 1) / 2 AS middle) AS half
      CROSS JOIN LATERAL (
        SELECT coalesce((
          SELECT created_at < ${since} FROM refund_event
          WHERE organization_id = ${organizationId} AND environment = ${environment}::environment
            AND position > low AND position <= middle
          ORDER BY position DESC LIMIT 1), true) AS is_before) AS last
      WHERE high - low > 1)
    SELECT low AS after FROM search ORDER BY high - low LIMIT 1`;
  return { after: found?.after ?? 0n, upto };
}

/** @returns how many were made, and the position of the last event that was read; null when there was none. */
async function createMissing(
  db: Database,
  part: { endpointId: string; since: Date; after: bigint; upto: bigint; most: number },
): Promise<{ count: number; readTo: bigint | null }> {
  const { endpointId, since, after, upto, most } = part;
  const [made] = await db.$queryRaw<{ count: number; readTo: bigint | null }[]>`
    WITH endpoint AS MATERIALIZED (
      SELECT id, organization_id, environment, events, service_time() AS moment FROM webhook_endpoint
      WHERE id = ${endpointId} AND status = 'enabled' FOR SHARE
    ), event AS MATERIALIZED (
      SELECT event.*, endpoint.id AS endpoint_id, moment,
        event.created_at >= ${since} AND (event.type = ANY (events) OR '*' = ANY (events)) AS is_for_it
      FROM endpoint CROSS JOIN LATERAL (
        SELECT id, type, refund_id, position, created_at FROM refund_event
        WHERE organization_id = endpoint.organization_id AND environment = endpoint.environment
          AND position > ${after} AND position <= ${upto}
        ORDER BY position LIMIT ${most}) AS event
    ), made AS (
      INSERT INTO webhook_delivery (id, endpoint_id, event_id, type, refund_id, position, next_attempt_at, created_at)
      SELECT new_type_id('del', moment), endpoint_id, id, type, refund_id, position, moment, moment
      FROM event WHERE is_for_it ORDER BY position
      ON CONFLICT DO NOTHING
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM made)::int AS count, (SELECT max(position) FROM event) AS "readTo"`;
  return made ?? { count: 0, readTo: null };
}
