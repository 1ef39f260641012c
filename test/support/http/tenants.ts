import { apiKeyScopes, createApiKey } from '#shared/organizations/api-keys.ts';
import { invite } from '#shared/people/members/invitations.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { newRefund } from '../refunds/new-refund.ts';
import type { TestOrganization, TestService } from '../service.ts';
import { newEndpoint, storeDelivery } from '../webhooks/api-endpoints.ts';
import { type Canary, newCanary } from './canaries.ts';

/** What an environment of an organization has, by the names that routes give to ids. */
export interface TenantIds extends Record<string, string> {
  refundId: string;
  transactionId: string;
  externalRefundId: string;
  batchId: string;
  endpointId: string;
  deliveryId: string;
  keyId: string;
  runId: string;
}

/** An environment of an organization, which has one of everything. */
export interface Tenant {
  organizationId: string;
  environment: Environment;
  /** Of every scope. */
  key: string;
  ids: TenantIds;
  /** Texts that are nowhere else. */
  canaries: Canary[];
}

/** Fills an environment of an organization. */
export async function plantTenant(
  service: TestService,
  { id: organizationId, keys }: TestOrganization,
  environment: Environment,
): Promise<Tenant> {
  const { db } = service.deps;
  const key = keys[environment].plaintext;
  const canaries: Canary[] = [];
  const plant = (what: string): string => {
    const canary = newCanary(`${what} of ${organizationId} ${environment}`);
    canaries.push(canary);
    return canary.text;
  };
  const now = new Date();
  const owner = { organizationId, environment };

  const sent = { key, payment: { environment } };
  const refund = await newRefund(service, { metadata: { note: plant('metadata') } }, sent);
  const externalRefundId = `re_${newCanary('').text}`;
  await service.ownerDb.refund.update({ where: { id: refund.id }, data: { externalRefundId } });
  const rows = [{ transactionId: plant('a row of a batch'), amount: 100, reason: 'other' }];
  const batch = await service.call('POST', '/v1/refund-batches', { key, body: { rows } });
  const endpoint = await newEndpoint(service, { key, description: plant('the description of an endpoint') });
  const ended = { durationMs: 1, responseStatus: 500, error: 'unsuccessful_status' };
  const attempt = { number: 1, startedAt: now.toISOString(), ...ended, responseBody: plant('a response') };
  const delivery = await storeDelivery(service, endpoint.id, { attempts: [attempt] });
  const made = { ...owner, actor: 'test', scopes: apiKeyScopes };
  await createApiKey(service.deps, { ...made, name: plant('the name of a key') });
  const agent = {
    ...owner,
    actor: 'test',
    name: plant('the name of an agent'),
    agentLimits: { currency: 'usd' },
  };
  const { id: keyId } = await createApiKey(service.deps, agent);
  const account = await db.processorAccount.findFirstOrThrow({ where: { ...owner, processor: 'stripe' } });
  const event = { accountId: account.id, externalEventId: plant('an event'), type: 'refund.updated' };
  await db.processorEvent.create({ data: { ...event, receivedAt: now } });
  const runId = newId('rec');
  await db.reconciliationRun.create({
    data: {
      ...{ id: runId, accountId: account.id, actor: 'worker', windowStart: new Date(0), windowEnd: now },
      ...{ startedAt: now, finishedAt: now, failure: plant('the failure of a run') },
    },
  });
  return {
    ...owner,
    key,
    canaries,
    ids: {
      ...{ refundId: refund.id, transactionId: refund.transactionId, externalRefundId },
      ...{ batchId: batch.body.data.id, endpointId: endpoint.id, deliveryId: delivery.id, keyId, runId },
    },
  };
}

/** Gives an organization what both of its environments share. */
export async function plantOrganization(
  { deps }: TestService,
  { id: organizationId }: TestOrganization,
): Promise<Canary[]> {
  const canaries: Canary[] = [];
  const plant = (what: string): string => {
    const { text } = newCanary('');
    canaries.push({ what: `${what} of ${organizationId}`, text: text.toLowerCase() });
    return text.toLowerCase();
  };
  const name = plant('the name');
  await deps.db.organization.update({ where: { id: organizationId }, data: { name } });
  const policies = [{ name: plant('a policy'), priority: 1, windowDays: 30 }];
  await setPolicies(deps, { organizationId, file: { policies }, actor: 'test' });
  const { id: userId } = await deps.db.user.create({
    data: { id: newId('usr'), email: `${plant('a member')}@example.com`, passwordHash: '' },
  });
  await deps.db.membership.create({ data: { organizationId, userId, role: 'owner' } });
  const email = `${plant('an invitation')}@example.com`;
  await invite(deps, { organizationId, acting: { userId }, email, role: 'viewer' });
  return canaries;
}
