import { type rootEventType, testEventType } from '../events/event.ts';
import type { Position } from '../platform/cursor.ts';
import { type Database, Prisma, serviceTime, type WebhookDelivery } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId, newId } from '../platform/ids.ts';
import type { RefundQueues } from '../platform/queues.ts';
import type { PublicEventType } from '../refunds/model/event-types.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { bodyOf, type ContentRow, contentColumns, contentFrom, joinContent } from './delivery-content.ts';
import { auditEndpoint, type EndpointRequest, findEndpoint, lockEnabledEndpoint } from './endpoint.ts';

export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Why an attempt of a delivery failed, as stored and shown: each code with its explanation. */
export const attemptErrors = {
  unsuccessful_status: 'The endpoint did not respond with a 2xx status.',
  redirect: 'The endpoint responded with a redirect, which is not followed.',
  timeout: 'The response was not complete after 15 seconds.',
  dns_failed: "The endpoint's host name could not be resolved.",
  connection_failed: 'No connection could be made to the endpoint.',
  connection_closed: 'The endpoint closed the connection before the response was complete.',
  tls_failed: 'No secure connection could be made, for example because of an invalid certificate.',
  invalid_response: 'The response was not valid HTTP.',
  address_not_public: 'The endpoint is not on the public internet.',
  https_required: 'The URL of the endpoint does not begin with https://.',
  not_sent: 'The service could not send the request.',
  interrupted: 'The worker ended during the attempt. The endpoint may have received the request.',
} as const;

export type AttemptError = keyof typeof attemptErrors;

/** A delivery as clients see it. */
export interface PublicDelivery extends Pick<WebhookDelivery, 'id' | 'eventId' | 'status'> {
  type: PublicEventType | typeof rootEventType | typeof testEventType;
  nextAttemptAt: string | null;
  /** The oldest first. */
  attempts: PublicAttempt[];
}

interface PublicAttempt {
  startedAt: string;
  durationMs: number | null;
  responseStatus: number | null;
  /** Why there is no successful response. */
  error: AttemptError | null;
  /** The beginning of the response. */
  responseBody: string | null;
}

/**
 * An attempt in the `attempts` of a delivery, which has the last 20. It is stored before the request is sent, and the fields that
 * are null are missing: the number and the time alone are an attempt under way, or one whose worker died.
 */
export interface StoredAttempt extends Partial<PublicAttempt> {
  /** 1, 2, 3, ... per delivery. */
  number: number;
  startedAt: string;
}

/** The columns that clients see. */
type StoredDelivery = Pick<
  WebhookDelivery,
  'id' | 'eventId' | 'type' | 'status' | 'nextAttemptAt' | 'attempts'
>;

function toPublicDelivery(delivery: StoredDelivery): PublicDelivery {
  const { id, eventId, type, status, nextAttemptAt } = delivery;
  const attempts = delivery.attempts as unknown as StoredAttempt[];
  return {
    ...{ id, eventId, type: type as PublicDelivery['type'], status },
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    attempts: attempts.map((attempt) => ({
      startedAt: new Date(attempt.startedAt).toISOString(),
      durationMs: attempt.durationMs ?? null,
      responseStatus: attempt.responseStatus ?? null,
      error: attempt.error ?? null,
      responseBody: attempt.responseBody ?? null,
    })),
  };
}

/** Written out, because a partial index serves no parameter. */
const hasStatus: Readonly<Record<DeliveryStatus, Prisma.Sql>> = {
  pending: Prisma.sql`delivery.status = 'pending'`,
  succeeded: Prisma.sql`delivery.status = 'succeeded'`,
  failed: Prisma.sql`delivery.status = 'failed'`,
};

/** Which deliveries of an endpoint to find. */
interface DeliverySearch {
  status: DeliveryStatus | undefined;
  /** Only those that are older. */
  before?: Position | null;
  limit: number;
  offset?: number;
}

/**
 * An endpoint's deliveries, the newest first, each with when it was created.
 * @throws ServiceError not_found for the endpoint.
 */
export async function findDeliveries(
  db: Database,
  owner: RefundOwner,
  endpointId: string,
  { status, before = null, limit, offset = 0 }: DeliverySearch,
): Promise<{ createdAt: Date; delivery: PublicDelivery }[]> {
  await findEndpoint(db, owner, endpointId);
  const hasThat = status === undefined ? Prisma.sql`true` : hasStatus[status];
  const isOlder =
    before === null
      ? Prisma.sql`true`
      : Prisma.sql`(created_at, id) < (${before.createdAt}::timestamptz, ${before.id}::text)`;
  const found = await db.$queryRaw<(StoredDelivery & { createdAt: Date })[]>`
    SELECT id, event_id AS "eventId", type, status::text, next_attempt_at AS "nextAttemptAt", attempts,
      created_at AS "createdAt"
    FROM webhook_delivery AS delivery
    WHERE endpoint_id = ${endpointId} AND ${hasThat} AND ${isOlder}
    ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`;
  return found.map((row) => ({ createdAt: row.createdAt, delivery: toPublicDelivery(row) }));
}

/** A delivery with what is sent in it. */
export interface DeliveryWithBody extends PublicDelivery {
  refundId: string | null;
  createdAt: Date;
  /** The refund in it is as it was right after the event, and without what was erased since. */
  body: object;
}

/**
 * Finds a delivery of an endpoint.
 * @throws ServiceError not_found for the endpoint or the delivery.
 */
export async function findDelivery(
  db: Database,
  owner: RefundOwner,
  { endpointId, deliveryId }: { endpointId: string; deliveryId: string },
): Promise<DeliveryWithBody> {
  await findEndpoint(db, owner, endpointId);
  const [row] = isId('del', deliveryId)
    ? await db.$queryRaw<(ContentRow & Omit<StoredDelivery, 'id' | 'status'> & Aliased)[]>`
        SELECT ${contentColumns}, d.id AS "deliveryId", d.type, d.status::text AS "deliveryStatus",
          d.next_attempt_at AS "nextAttemptAt", d.attempts, d.refund_id AS "refundId"
        FROM webhook_delivery AS d ${joinContent}
        WHERE d.id = ${deliveryId} AND d.endpoint_id = ${endpointId}`
    : [];
  if (row === undefined) throw deliveryNotFound();
  const { deliveryId: id, deliveryStatus: status, webhookId, refundId, deliveryCreatedAt: createdAt } = row;
  const delivery = toPublicDelivery({ ...row, id, status, eventId: webhookId });
  return { ...delivery, refundId, createdAt, body: bodyOf(contentFrom(row)) };
}

/** The columns of a delivery whose names a refund has, too. */
interface Aliased {
  deliveryId: string;
  deliveryStatus: StoredDelivery['status'];
  refundId: string | null;
}

function deliveryNotFound(): ServiceError {
  return new ServiceError('not_found', 'Webhook delivery not found.');
}

interface DeliveryDependencies {
  db: Database;
  queues: RefundQueues;
}

/**
 * Makes a test event due for an endpoint, also if the filter of the endpoint leaves the type out.
 * @throws ServiceError not_found for the endpoint; validation_error when it is disabled.
 */
export async function sendTestEvent(
  { db, queues }: DeliveryDependencies,
  request: EndpointRequest,
): Promise<PublicDelivery> {
  const { endpointId } = request;
  const delivery = await db.$transaction(async (tx) => {
    await lockEnabledEndpoint(tx, request, endpointId);
    const now = await serviceTime(tx);
    const created = await tx.webhookDelivery.create({
      data: {
        ...{ id: newId('del'), endpointId, eventId: newId('evt'), type: testEventType },
        ...{ nextAttemptAt: now, createdAt: now },
      },
    });
    await auditEndpoint(tx, 'webhook_endpoint.tested', request, now, { delivery: created.id });
    return created;
  });
  queues.wakeWorkers();
  return toPublicDelivery(delivery);
}

/**
 * Makes a delivery due now, in place of its next attempt; also one that has ended. While an attempt is under way, the delivery is
 * due again as soon as that one fails.
 * @throws ServiceError not_found for the endpoint or the delivery; validation_error when the endpoint is disabled.
 */
export async function retryDelivery(
  { db, queues }: DeliveryDependencies,
  request: EndpointRequest & { deliveryId: string },
): Promise<PublicDelivery> {
  const { endpointId, deliveryId } = request;
  const delivery = await db.$transaction(async (tx) => {
    await lockEnabledEndpoint(tx, request, endpointId);
    const now = await serviceTime(tx);
    const where = { id: deliveryId, endpointId };
    const due = { status: 'pending', nextAttemptAt: now } as const;
    const { count } = isId('del', deliveryId)
      ? await tx.webhookDelivery.updateMany({ where, data: due })
      : { count: 0 };
    if (count === 0) throw deliveryNotFound();
    await auditEndpoint(tx, 'webhook_endpoint.delivery_retried', request, now, { delivery: deliveryId });
    return await tx.webhookDelivery.findUniqueOrThrow({ where });
  });
  queues.wakeWorkers();
  return toPublicDelivery(delivery);
}

/** Rows that one statement changes, so that none takes long. */
const batchSize = 1_000;

/** Deliveries that one request replays at most. */
export const maxReplayed = 10_000;

/**
 * Makes the deliveries of a status due now that were created in a period, the oldest first and at most
 * `maxReplayed`. The sweep starts them.
 * @returns how many; fewer when the endpoint is disabled meanwhile.
 * @throws ServiceError not_found for the endpoint; validation_error when it is disabled.
 */
export async function replayDeliveries(
  { db }: Pick<DeliveryDependencies, 'db'>,
  request: EndpointRequest & { since: Date; status: DeliveryStatus },
): Promise<number> {
  const { endpointId, since, status } = request;
  const until = await db.$transaction(async (tx) => {
    await lockEnabledEndpoint(tx, request, endpointId);
    const now = await serviceTime(tx);
    await auditEndpoint(tx, 'webhook_endpoint.replayed', request, now, {
      since: since.toISOString(),
      status,
    });
    return now;
  });
  let count = 0;
  // One that ends again while others are made due is not taken twice.
  let after = { createdAt: since, id: '' };
  while (count < maxReplayed) {
    const replayed = await db.$queryRaw<{ createdAt: Date; id: string }[]>`
      WITH endpoint AS (SELECT id FROM webhook_endpoint WHERE id = ${endpointId} AND status = 'enabled' FOR SHARE),
      batch AS (
        SELECT delivery.id, delivery.created_at
        FROM endpoint JOIN webhook_delivery AS delivery ON delivery.endpoint_id = endpoint.id
        WHERE (delivery.created_at, delivery.id) > (${after.createdAt}, ${after.id}) AND delivery.created_at <= ${until}
          AND ${hasStatus[status]}
        ORDER BY delivery.created_at, delivery.id LIMIT ${batchSize} FOR UPDATE OF delivery),
      replayed AS (
        UPDATE webhook_delivery AS delivery SET status = 'pending', next_attempt_at = service_time()
        FROM batch WHERE delivery.id = batch.id RETURNING batch.created_at, batch.id)
      SELECT created_at AS "createdAt", id FROM replayed ORDER BY created_at, id`;
    const last = replayed.at(-1);
    if (last === undefined) break;
    count += replayed.length;
    after = last;
  }
  return count;
}

/**
 * Ends the pending deliveries of a disabled endpoint. A worker ends one that is left, unless it was leased a moment before. Rows are
 * locked in the order of their ids, as in `recordAttempts`, so that neither waits for the other in a circle.
 */
export async function endPendingDeliveries(db: Database, endpointId: string): Promise<void> {
  for (;;) {
    const ended = await db.$executeRaw`
      WITH endpoint AS (SELECT id FROM webhook_endpoint WHERE id = ${endpointId} AND status = 'disabled' FOR SHARE),
      found AS MATERIALIZED (
        SELECT delivery.id FROM endpoint JOIN webhook_delivery AS delivery ON delivery.endpoint_id = endpoint.id
        WHERE ${hasStatus.pending} LIMIT ${batchSize}),
      batch AS (
        SELECT delivery.id FROM webhook_delivery AS delivery
        WHERE delivery.id = ANY (ARRAY(SELECT id FROM found)) AND ${hasStatus.pending} ORDER BY delivery.id FOR UPDATE)
      UPDATE webhook_delivery AS delivery SET status = 'failed', next_attempt_at = NULL
      FROM batch WHERE delivery.id = batch.id`;
    if (ended === 0) return;
  }
}
