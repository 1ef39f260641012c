import { beforeEach, describe, expect, test } from 'vitest';
import { revokeApiKey } from '#shared/organizations/api-keys.ts';
import { removeMember } from '#shared/people/members/members.ts';
import { auditOf } from '../../support/audit-log.ts';
import { newPerson } from '../../support/people.ts';
import type { TestOrganization } from '../../support/service.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

// A key that someone else has seen is revoked, and with it what its holder left behind.
const service = useService({ workers: 0 });
let owner: TestOrganization;
let stolen: { id: string; plaintext: string };
beforeEach(async () => {
  owner = await service.addOrganization('Own');
  stolen = await service.newKey({ organizationId: owner.id, scopes: ['refunds:read', 'webhooks:manage'] });
});

const own = () => ({ key: owner.keys.test.plaintext });
const revoke = (withCreated = true) =>
  revokeApiKey(service.deps, { keyId: stolen.id, actor: 'cli:root', withCreated });
const endpointNow = async (id: string) =>
  (await service.call('GET', `/v1/webhook-endpoints/${id}`, own())).body.data;

describe('revoking a key with what it created', () => {
  test('disables its webhook endpoints and ends what is pending, and no other', async () => {
    const made = await newEndpoint(service, { key: stolen.plaintext });
    const other = await newEndpoint(service, own());
    const pending = await storeDelivery(service, made.id, { status: 'pending', nextAttemptAt: new Date() });
    expect((await revoke(false)).endpoints).toMatchObject([{ id: made.id }]);
    expect((await endpointNow(made.id)).status).toBe('enabled');
    await revoke();
    expect(await endpointNow(made.id)).toMatchObject({ status: 'disabled', disabledReason: 'requested' });
    expect((await endpointNow(other.id)).status).toBe('enabled');
    const where = { id: pending.id };
    expect(await service.deps.db.webhookDelivery.findUnique({ where })).toMatchObject({ status: 'failed' });
    expect((await auditOf(service, made.id)).at(-1)).toMatchObject({
      ...{ actor: 'cli:root', action: 'webhook_endpoint.changed' },
      detail: { environment: 'test', changed: 'status', status: 'disabled' },
    });
  });

  test('disables an endpoint of another key that it turned to its own address', async () => {
    const { id } = await newEndpoint(service, own());
    const body = { url: 'https://attacker.example.com/' };
    await service.call('PATCH', `/v1/webhook-endpoints/${id}`, { key: stolen.plaintext, body });
    expect(await endpointNow(id)).toMatchObject({ ...body, createdBy: `key:${stolen.id}` });
    await revoke();
    expect((await endpointNow(id)).status).toBe('disabled');
  });

  test('leaves none that it creates at that moment', async () => {
    expect((await createJustAfter(revoke, stolen.plaintext)).status).toBe(401);
  });
});

/** Asks for an endpoint with a key just after `end` has begun, and expects that none is stored. @returns the answer. */
async function createJustAfter(end: () => Promise<unknown>, key: string) {
  const body = { url: 'http://127.0.0.1:9/hooks' };
  const started = await withClient(service.databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM organization FOR NO KEY UPDATE');
    const ended = end();
    await waitForLock(client, 1);
    const created = service.call('POST', '/v1/webhook-endpoints', { key, body });
    await waitForLock(client, 2);
    await client.query('COMMIT');
    return { ended, created };
  });
  await started.ended;
  const answer = await started.created;
  expect(await service.deps.db.webhookEndpoint.count({ where: { organizationId: owner.id } })).toBe(0);
  return answer;
}

test('the key of an admin who is removed creates no webhook endpoint at that moment', async () => {
  const organizationId = owner.id;
  const { userId } = await newPerson(service.deps, organizationId, 'admin');
  const scopes = ['refunds:read', 'webhooks:manage'] as const;
  const { plaintext } = await service.newKey({ organizationId, actor: `user:${userId}`, scopes });
  const remove = () =>
    removeMember(service.deps, { organizationId, userId, acting: { administration: 'test' } });
  expect((await createJustAfter(remove, plaintext)).status).toBe(403);
});
