import type { DatabaseTransaction, WebhookEndpoint } from '../platform/database.ts';
import { auditEndpoint, hostOf } from './endpoint.ts';

/** An endpoint that goes on without the key that created it. */
export type CreatedEndpoint = Pick<WebhookEndpoint, 'id' | 'organizationId' | 'environment' | 'url'> & {
  createdBy: string;
  /** The one of the actors asked about that created it, directly or with a key. */
  creator: string;
};

/**
 * The enabled endpoints that actors created, or gave their URL, also with keys that they or these keys created, the oldest first.
 * @param creators `user:<id>` or `key:<id>`.
 * @param organizationId limits it to endpoints of this organization.
 */
export async function createdEndpoints(
  db: DatabaseTransaction,
  creators: readonly string[],
  organizationId: string | null = null,
): Promise<CreatedEndpoint[]> {
  return await db.$queryRaw<CreatedEndpoint[]>`
    WITH RECURSIVE made AS (
      SELECT actor, actor AS creator FROM unnest(${[...creators]}::text[]) AS actor
      UNION
      SELECT 'key:' || key.id, made.creator FROM made JOIN api_key AS key ON key.created_by = made.actor
    )
    SELECT endpoint.id, endpoint.organization_id AS "organizationId", endpoint.environment::text, endpoint.url,
      endpoint.created_by AS "createdBy", made.creator
    FROM made JOIN webhook_endpoint AS endpoint ON endpoint.created_by = made.actor
    WHERE endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL
      AND (${organizationId}::text IS NULL OR endpoint.organization_id = ${organizationId})
    ORDER BY endpoint.created_at, endpoint.id`;
}

/**
 * Disables endpoints as part of another change, each with an audit entry. Call it with their organization locked, so that none is
 * created or changed meanwhile, and `endPendingDeliveries` after the transaction.
 */
export async function disableEndpoints(
  tx: DatabaseTransaction,
  endpoints: readonly CreatedEndpoint[],
  actor: string,
  now: Date,
): Promise<void> {
  await tx.webhookEndpoint.updateMany({
    where: { id: { in: endpoints.map(({ id }) => id) } },
    data: { status: 'disabled', disabledReason: 'requested', updatedAt: now },
  });
  for (const { id: endpointId, organizationId, environment, url } of endpoints) {
    const detail = { changed: 'status', status: 'disabled', host: hostOf(url) };
    const request = { organizationId, environment, endpointId, actor };
    await auditEndpoint(tx, 'webhook_endpoint.changed', request, now, detail);
  }
}
