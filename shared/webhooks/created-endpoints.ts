import type { DatabaseTransaction, WebhookEndpoint } from '../platform/database.ts';
import { auditEndpoint, hostOf } from './endpoint.ts';

/** An endpoint that goes on without the key that created it. */
export type CreatedEndpoint = Pick<
  WebhookEndpoint,
  'id' | 'organizationId' | 'environment' | 'url' | 'createdBy'
>;

/** The enabled endpoints that actors created, or gave their URL, the oldest first. */
export async function createdEndpoints(
  db: DatabaseTransaction,
  organizationId: string,
  creators: readonly string[],
): Promise<CreatedEndpoint[]> {
  return await db.webhookEndpoint.findMany({
    where: { organizationId, createdBy: { in: [...creators] }, status: 'enabled', deletedAt: null },
    select: { id: true, organizationId: true, environment: true, url: true, createdBy: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
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
