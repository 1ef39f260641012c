import { expect, test } from 'vitest';
import { revokeApiKey } from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import { removeMember } from '#shared/people/members/members.ts';
import { holdBody } from '#test/support/held-request.ts';
import { newPerson } from '#test/support/people.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { untilChange } from '#test/support/service.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

// A client may send the headers of a request while its key works and the body afterwards, or wait for what happens afterwards.
let passedMs = 0;
const clock = { now: () => new Date(Date.now() + passedMs) };
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 }, overrides: { clock } });
const actor = 'cli:root';
const creation = { transactionId: 'ch_late', amount: 100, reason: 'other' };
const tool = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'create_refund', arguments: creation },
};

/** Sends a request whose body arrives a second after `end`. */
async function sendLate(url: string, key: string, content: object, end: () => Promise<unknown>) {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  return await holdBody(service, { method: 'POST', url, headers }, JSON.stringify(content), async () => {
    await end();
    passedMs += 1_000;
  });
}

test.each([
  ['is revoked', (keyId: string) => revokeApiKey(service.deps, { keyId, actor }), 401],
  [
    'is stopped',
    (keyId: string) => changeApiKey(service.deps, { keyId, actor, change: { isStopped: true } }),
    403,
  ],
])('a body that arrives after its key %s changes nothing', async (_what, end, status) => {
  const { id, plaintext } = await service.newKey();
  expect((await sendLate('/v1/refunds', plaintext, creation, () => end(id))).statusCode).toBe(status);
  expect(await service.deps.db.refund.count()).toBe(0);
});

test('a call of an agent that arrives after its key is stopped creates no refund', async () => {
  const { id, plaintext } = await service.newKey();
  const stop = () => changeApiKey(service.deps, { keyId: id, actor, change: { isStopped: true } });
  expect((await sendLate('/mcp', plaintext, tool, stop)).body).toContain('insufficient_scope');
  expect(await service.deps.db.refund.count()).toBe(0);
});

test('a body that arrives after the person behind the key is removed creates no webhook endpoint', async () => {
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  const { plaintext } = await service.newKey({
    actor: `user:${userId}`,
    scopes: ['refunds:read', 'webhooks:manage'],
  });
  const organizationId = service.organization.id;
  const remove = () =>
    removeMember(service.deps, { organizationId, userId, acting: { administration: actor } });
  const endpoint = { url: 'https://attacker.example.com/' };
  expect((await sendLate('/v1/webhook-endpoints', plaintext, endpoint, remove)).statusCode).toBe(403);
  expect(await service.deps.db.webhookEndpoint.count()).toBe(0);
});

test('a client that waits for events gets none that follow the revocation of its key', async () => {
  const { id, plaintext } = await service.newKey({ scopes: ['refunds:read'] });
  await newRefund(service);
  const { nextAfter } = (await service.call('GET', '/v1/events')).body;
  const options = { key: plaintext, headers: untilChange };
  const waiting = service.call('GET', `/v1/events?after=${nextAfter}`, options);
  await waitFor('the client to wait', () => service.app.deps.feed.waiting === 1);
  await revokeApiKey(service.deps, { keyId: id, actor });
  passedMs += 1_000;
  await newRefund(service);
  expect((await waiting).status).toBe(401);
});
