import { type AuditAction, writeAudit } from '../audit/audit-log.ts';
import { rootEventType } from '../events/event.ts';
import { type DatabaseTransaction, Prisma, type WebhookEndpoint } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import { publicEventTypes } from '../refunds/model/event-types.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';

/** What an endpoint may subscribe to; `*` is every type, also those that are added later. */
export const endpointEvents = ['*', ...publicEventTypes, rootEventType] as const;

export type EndpointEvent = (typeof endpointEvents)[number];

/**
 * Why an endpoint is disabled: a client asked for it, the endpoint replied 410 Gone, or an attempt failed five days or
 * more after the first of the consecutive failures.
 */
export const disabledReasons = ['requested', 'gone', 'failing'] as const;

export type DisabledReason = (typeof disabledReasons)[number];

export type PublicEndpoint = ReturnType<typeof toPublicEndpoint>;

/** An endpoint as clients see it. */
export function toPublicEndpoint(endpoint: WebhookEndpoint) {
  const { id, url, description, status, createdBy, createdAt, updatedAt } = endpoint;
  return {
    ...{ id, url, events: endpoint.events as EndpointEvent[], description, status },
    disabledReason: endpoint.disabledReason as DisabledReason | null,
    ...{ createdBy, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() },
  };
}

/** Which endpoint a request is about, whose it is, and who acts. */
export interface EndpointRequest extends RefundOwner {
  endpointId: string;
  actor: string;
}

/**
 * Finds an endpoint for a client.
 * @throws ServiceError not_found for an id that is unknown, malformed, deleted or another owner's.
 */
export async function findEndpoint(
  db: DatabaseTransaction,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<WebhookEndpoint> {
  const endpoint = isId('we', id) ? await db.webhookEndpoint.findUnique({ where: { id } }) : null;
  const isOwn = endpoint?.organizationId === organizationId && endpoint.environment === environment;
  if (isOwn && endpoint.deletedAt === null) return endpoint;
  throw new ServiceError('not_found', 'Webhook endpoint not found.');
}

/**
 * Locks an endpoint before it is changed.
 * @throws ServiceError not_found as `findEndpoint`.
 */
export async function lockEndpoint(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  id: string,
): Promise<WebhookEndpoint> {
  return await lockAndFind(tx, owner, id, Prisma.sql`FOR NO KEY UPDATE`);
}

/**
 * Keeps an endpoint enabled until the end of the database transaction, so that disabling it also ends the deliveries that
 * become due in it.
 * @throws ServiceError not_found as `findEndpoint`; validation_error for a disabled one.
 */
export async function lockEnabledEndpoint(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  id: string,
): Promise<WebhookEndpoint> {
  const endpoint = await lockAndFind(tx, owner, id, Prisma.sql`FOR SHARE`);
  if (endpoint.status === 'enabled') return endpoint;
  throw new ServiceError('validation_error', 'The webhook endpoint is disabled. Enable it first.');
}

async function lockAndFind(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  id: string,
  lock: Prisma.Sql,
): Promise<WebhookEndpoint> {
  const { organizationId, environment } = owner;
  // Other text may not even be a valid value for the database.
  if (isId('we', id)) {
    await tx.$queryRaw`
      SELECT 1 FROM webhook_endpoint
      WHERE id = ${id} AND organization_id = ${organizationId} AND environment = ${environment}::environment ${lock}`;
  }
  return await findEndpoint(tx, owner, id);
}

/** A path may contain a token of the receiver, so the audit log has the host alone. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

/** Writes down what was done to an endpoint, in the database transaction that does it. */
export async function auditEndpoint(
  tx: DatabaseTransaction,
  action: AuditAction,
  { organizationId, environment, endpointId, actor }: EndpointRequest,
  now: Date,
  detail: Prisma.InputJsonObject,
): Promise<void> {
  const entry = { organizationId, actor, action, target: endpointId };
  await writeAudit(tx, { ...entry, detail: { environment, ...detail } }, now);
}
