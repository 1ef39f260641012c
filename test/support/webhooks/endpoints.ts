import type { Dependencies } from '#shared/dependencies.ts';
import type { WebhookEndpoint } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { toItems } from '#shared/refunds/model/rows.ts';
import { newEndpointSecret, secretColumns } from '#shared/webhooks/endpoint-secrets.ts';
import { cancellationOf, creationOf, type Owner } from '../refunds/statement-items.ts';
import type { TestService } from '../service.ts';

// Endpoints, events and deliveries straight in the database, without the API.

/** What endpoints and refunds are made with; a `TestService` has it. */
export interface EndpointStage {
  deps: Pick<Dependencies, 'db' | 'secrets' | 'clock'>;
  organization: { id: string };
}

export interface EndpointOptions {
  url: string;
  events?: string[];
  organizationId?: string;
  environment?: Environment;
}

/** Registers an endpoint. */
export async function addEndpoint(
  { deps, organization }: EndpointStage,
  { url, events = ['*'], organizationId = organization.id, environment = 'test' }: EndpointOptions,
): Promise<WebhookEndpoint & { secret: string }> {
  const id = newId('we');
  const secret = newEndpointSecret();
  const now = deps.clock.now();
  const columns = { ...secretColumns(deps.secrets, id, [secret], null), createdAt: now, updatedAt: now };
  const endpoint = await deps.db.webhookEndpoint.create({
    data: { id, organizationId, environment, url, events, ...columns },
  });
  return { ...endpoint, secret };
}

const ownerOf = ({ organization }: Pick<EndpointStage, 'organization'>): Owner => ({
  organizationId: organization.id,
  environment: 'test',
});

/** Records refunds, each with its first event, and returns their ids. No worker ever works on them. */
export async function recordRefunds(
  service: EndpointStage,
  count: number,
  owner: Owner = ownerOf(service),
): Promise<string[]> {
  const { db } = service.deps;
  const where = { ...owner, processor: 'stripe', isDefault: true };
  const { id: accountId } = await db.processorAccount.findFirstOrThrow({ where });
  const items = Array.from({ length: count }, () => creationOf({ ...owner, accountId }));
  const ids = items.map(({ id }) => id);
  await db.$transaction([
    db.$queryRaw`SELECT outcome FROM create_refunds(${toItems(items)}::jsonb)`,
    db.refundWork.updateMany({ where: { refundId: { in: ids } }, data: { dueAt: new Date('2100-01-01') } }),
  ]);
  return ids;
}

/** Cancels a refund, which is its next event. */
export async function recordCancellation(
  service: Pick<TestService, 'deps' | 'organization'>,
  refundId: string,
  owner: Owner = ownerOf(service),
): Promise<void> {
  const asked = cancellationOf(owner, refundId);
  await service.deps.db.$queryRaw`SELECT outcome FROM cancel_refund(${toItems(asked)}::jsonb)`;
}
