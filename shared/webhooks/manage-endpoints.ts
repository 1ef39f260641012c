import { requireCreator } from '../access/creator.ts';
import type { Database, Prisma, Stores, WebhookEndpoint } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { changeOrganization } from '../platform/organization.ts';
import { type SecretBox, SecretUnreadableError } from '../platform/secrets/secrets.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { endPendingDeliveries } from './deliveries.ts';
import {
  auditEndpoint,
  type EndpointEvent,
  type EndpointRequest,
  endpointEvents,
  hostOf,
  lockEndpoint,
} from './endpoint.ts';
import { newEndpointSecret, openEndpointSecrets, secretColumns } from './endpoint-secrets.ts';

/** Per organization and environment. */
export const maxEndpoints = 16;

/** Secrets before the current one that sign during an overlap; each adds a signature to every request. */
const maxPreviousSecrets = 4;

interface EndpointDependencies extends Stores {
  secrets: SecretBox;
}

/** An endpoint with its new secret, which is shown only now. */
export interface EndpointWithSecret {
  endpoint: WebhookEndpoint;
  secret: string;
}

/** What a client decides about an endpoint. */
interface EndpointChange {
  url?: string | undefined;
  events?: readonly EndpointEvent[] | undefined;
  description?: string | null | undefined;
  status?: WebhookEndpoint['status'] | undefined;
}

/**
 * Creates an enabled endpoint.
 * @param request with a URL that `checkOutgoingUrl` accepts.
 * @throws ServiceError validation_error when the owner has too many endpoints; what `requireCreator` throws.
 */
export async function createEndpoint(
  deps: EndpointDependencies,
  request: RefundOwner & {
    url: string;
    events: readonly EndpointEvent[];
    description: string | null;
    actor: string;
  },
): Promise<EndpointWithSecret> {
  const { organizationId, environment, url, events, description, actor } = request;
  const id = newId('we');
  const secret = newEndpointSecret();
  const now = deps.clock.now();
  const endpoint = await changeOrganization(deps.db, organizationId, async (tx) => {
    await requireCreator(tx, request, 'webhooks:manage', now);
    const count = await tx.webhookEndpoint.count({ where: { organizationId, environment, deletedAt: null } });
    if (count >= maxEndpoints) {
      throw new ServiceError(
        'validation_error',
        `This environment already has ${maxEndpoints} webhook endpoints, the maximum. Delete one first.`,
      );
    }
    const created = await tx.webhookEndpoint.create({
      data: {
        ...{ id, organizationId, environment, url, events: filterOf(events), description, createdBy: actor },
        ...secretColumns(deps.secrets, id, [secret], null),
        ...{ createdAt: now, updatedAt: now },
      },
    });
    await auditEndpoint(tx, 'webhook_endpoint.created', { ...request, endpointId: id }, now, {
      host: hostOf(url),
    });
    return created;
  });
  return { endpoint, secret };
}

/** An owner's endpoints, the newest first. */
export async function listEndpoints(
  db: Database,
  { organizationId, environment }: RefundOwner,
): Promise<WebhookEndpoint[]> {
  return await db.webhookEndpoint.findMany({
    where: { organizationId, environment, deletedAt: null },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
}

/**
 * Changes an endpoint. Disabling it ends its pending deliveries; enabling it, or another URL, forgets the failures so far. Who changes the
 * URL counts as its creator.
 * @param change with a URL that `checkOutgoingUrl` accepts.
 * @throws ServiceError not_found as `findEndpoint`; what `requireCreator` throws.
 */
export async function changeEndpoint(
  deps: EndpointDependencies,
  request: EndpointRequest,
  change: EndpointChange,
): Promise<WebhookEndpoint> {
  const { endpointId: id, organizationId, actor } = request;
  const now = deps.clock.now();
  const changed = await changeOrganization(deps.db, organizationId, async (tx) => {
    await requireCreator(tx, request, 'webhooks:manage', now);
    const before = await lockEndpoint(tx, request, id);
    const data = columnsOf(change, before);
    const fields = Object.keys(data);
    if (fields.length === 0) return before;
    const restarts = data.url !== undefined || data.status === 'enabled';
    const endpoint = await tx.webhookEndpoint.update({
      where: { id },
      data: {
        ...data,
        ...(data.url === undefined ? {} : { createdBy: actor }),
        ...(restarts ? { failingSince: null } : {}),
        updatedAt: now,
      },
    });
    const detail = { changed: fields.join(', '), status: endpoint.status, host: hostOf(endpoint.url) };
    await auditEndpoint(tx, 'webhook_endpoint.changed', request, now, detail);
    return endpoint;
  });
  if (change.status === 'disabled') await endPendingDeliveries(deps.db, id);
  return changed;
}

/**
 * Replaces the secret of an endpoint. All secrets that are valid now, also those of a rotation a moment ago, sign as well until
 * the overlap ends: a client that repeats the request because the response was lost does not break its receiver.
 * @param overlapSeconds 0 ends them at once.
 * @throws ServiceError not_found as `findEndpoint`.
 */
export async function rotateSecret(
  deps: EndpointDependencies,
  request: EndpointRequest,
  overlapSeconds: number,
): Promise<EndpointWithSecret> {
  const { endpointId: id } = request;
  const secret = newEndpointSecret();
  return await deps.db.$transaction(async (tx) => {
    const before = await lockEndpoint(tx, request, id);
    const now = deps.clock.now();
    const previous = overlapSeconds === 0 ? [] : openSecrets(deps, before, now);
    const kept = previous.slice(0, maxPreviousSecrets);
    const expiresAt = new Date(now.getTime() + overlapSeconds * 1_000);
    const endpoint = await tx.webhookEndpoint.update({
      where: { id },
      data: { ...secretColumns(deps.secrets, id, [secret, ...kept], expiresAt), updatedAt: now },
    });
    await auditEndpoint(tx, 'webhook_endpoint.secret_rotated', request, now, { overlapSeconds });
    return { endpoint, secret };
  });
}

/**
 * Deletes an endpoint and ends its pending deliveries. A worker removes the rows later, because there may be millions.
 * @throws ServiceError not_found as `findEndpoint`.
 */
export async function deleteEndpoint(deps: EndpointDependencies, request: EndpointRequest): Promise<void> {
  const { endpointId: id } = request;
  await deps.db.$transaction(async (tx) => {
    const { url } = await lockEndpoint(tx, request, id);
    const now = deps.clock.now();
    const disabled = { status: 'disabled', disabledReason: 'requested' } as const;
    await tx.webhookEndpoint.update({ where: { id }, data: { ...disabled, deletedAt: now, updatedAt: now } });
    await auditEndpoint(tx, 'webhook_endpoint.deleted', request, now, { host: hostOf(url) });
  });
  await endPendingDeliveries(deps.db, id);
}

/** The columns in which a change differs from the endpoint. */
function columnsOf(
  { url, events, description, status }: EndpointChange,
  before: WebhookEndpoint,
): Prisma.WebhookEndpointUpdateInput {
  const filter = events === undefined ? before.events : filterOf(events);
  const disabledReason = status === 'disabled' ? 'requested' : null;
  const isSameStatus = status === before.status && disabledReason === before.disabledReason;
  return {
    ...(url === undefined || url === before.url ? {} : { url }),
    ...(filter.join() === before.events.join() ? {} : { events: filter }),
    ...(description === undefined || description === before.description ? {} : { description }),
    ...(status === undefined || isSameStatus ? {} : { status, disabledReason }),
  };
}

/** Every type once, in the order of the documentation; `*` includes all others. */
function filterOf(events: readonly EndpointEvent[]): string[] {
  return events.includes('*') ? ['*'] : endpointEvents.filter((event) => events.includes(event));
}

function openSecrets({ secrets }: EndpointDependencies, endpoint: WebhookEndpoint, now: Date): string[] {
  try {
    return openEndpointSecrets(secrets, endpoint, now);
  } catch (cause) {
    if (!(cause instanceof SecretUnreadableError)) throw cause;
    throw new ServiceError(
      'service_unavailable',
      'The current secret cannot be read. Nothing was changed. Send overlapSeconds 0 to replace it.',
      { cause },
    );
  }
}

/**
 * Encrypts the secrets of every endpoint with the current encryption key.
 * @returns how many endpoints there are.
 * @throws SecretUnreadableError when the key of a secret is missing.
 */
export async function reencryptEndpointSecrets({
  db,
  clock,
  secrets,
}: EndpointDependencies): Promise<number> {
  const endpoints = await db.webhookEndpoint.findMany({
    where: { deletedAt: null },
    select: { id: true, organizationId: true, environment: true },
  });
  for (const { id, ...owner } of endpoints) {
    await db.$transaction(async (tx) => {
      const endpoint = await lockEndpoint(tx, owner, id);
      const opened = openEndpointSecrets(secrets, endpoint, clock.now());
      const data = secretColumns(secrets, id, opened, endpoint.previousSecretExpiresAt);
      await tx.webhookEndpoint.update({ where: { id }, data });
    });
  }
  return endpoints.length;
}
