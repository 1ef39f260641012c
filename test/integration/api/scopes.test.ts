import type { InjectOptions } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { type ApiKeyScope, apiKeyScopes, createApiKey } from '../../../shared/organizations/api-keys.ts';
import { changeApiKey } from '../../../shared/organizations/change-api-key.ts';
import { noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import { useService } from '../../support/use-service.ts';

/** The scope that each route needs. A registered route that is not listed here fails the first test. */
const table: Record<string, ApiKeyScope> = {
  'POST /v1/refunds': 'refunds:write',
  'GET /v1/refunds': 'refunds:read',
  'GET /v1/refunds/:id': 'refunds:read',
  'GET /v1/refunds/:id/events': 'refunds:read',
  'POST /v1/refunds/:id/cancel': 'refunds:write',
  'POST /v1/refunds/:id/approve': 'refunds:approve',
  'POST /v1/refunds/:id/reject': 'refunds:approve',
  'GET /v1/events': 'refunds:read',
  'POST /v1/policies/check': 'policies:read',
  'GET /v1/webhook-endpoints': 'webhooks:manage',
  'POST /v1/webhook-endpoints': 'webhooks:manage',
  'GET /v1/webhook-endpoints/:id': 'webhooks:manage',
  'PATCH /v1/webhook-endpoints/:id': 'webhooks:manage',
  'DELETE /v1/webhook-endpoints/:id': 'webhooks:manage',
  'POST /v1/webhook-endpoints/:id/rotate-secret': 'webhooks:manage',
  'POST /v1/webhook-endpoints/:id/test': 'webhooks:manage',
  'GET /v1/webhook-endpoints/:id/deliveries': 'webhooks:manage',
  'POST /v1/webhook-endpoints/:id/deliveries/:deliveryId/retry': 'webhooks:manage',
  'POST /v1/webhook-endpoints/:id/replay': 'webhooks:manage',
  'GET /v1/agent-keys': 'keys:manage',
  'POST /v1/agent-keys': 'keys:manage',
  'PATCH /v1/agent-keys/:id': 'keys:manage',
  'DELETE /v1/agent-keys/:id': 'keys:manage',
};

const registered = noteRegisteredRoutes();
const service = useService({ workers: 0 });
const keys = new Map<ApiKeyScope, string>();

async function keyWith(scopes: readonly ApiKeyScope[]) {
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  return await createApiKey(service.deps, { ...owner, actor: 'test', scopes });
}

beforeAll(async () => {
  for (const scope of apiKeyScopes) keys.set(scope, (await keyWith([scope])).plaintext);
});

async function ask(route: string, key: string) {
  const [method = '', url = ''] = route.split(' ');
  const hasBody = method === 'POST' || method === 'PATCH';
  const request: InjectOptions = {
    method: method as 'GET',
    url: url.replaceAll(/:\w+/g, 'unknown'),
    headers: { authorization: `Bearer ${key}` },
    ...(hasBody ? { payload: {} } : {}),
  };
  return await service.app.inject(request);
}

test('the table lists every route for API keys', async () => {
  const missing: string[] = [];
  for (const { method, url } of registered) {
    const route = `${method} ${url}`;
    if (!url.startsWith('/v1/') || method === 'HEAD' || route in table) continue;
    // The 405 responses are routes as well.
    const { statusCode } = await service.app.inject({ method: method as 'GET', url });
    if (statusCode !== 405) missing.push(route);
  }
  expect(missing).toEqual([]);
});

test.each(Object.entries(table))('%s needs %s and no other scope', async (route, required) => {
  for (const [scope, key] of keys) {
    const answer = await ask(route, key);
    if (scope === required) {
      expect([400, 404, 200], scope).toContain(answer.statusCode);
      continue;
    }
    expect(answer.statusCode, scope).toBe(403);
    expect(answer.json()).toEqual({
      error: {
        code: 'insufficient_scope',
        message: `This requires the scope ${required}, which this API key does not have. Use another key.`,
      },
    });
  }
});

test.each(Object.keys(table))('%s refuses a stopped key until it is resumed', async (route) => {
  const { id: keyId, plaintext } = await keyWith(apiKeyScopes);
  const change = async (isStopped: boolean) =>
    await changeApiKey(service.deps, { keyId, actor: 'test', change: { isStopped } });
  await change(true);
  const refused = await ask(route, plaintext);
  expect([refused.statusCode, refused.json().error.code]).toEqual([403, 'insufficient_scope']);
  expect(refused.json().error.message).toContain('This API key is stopped.');
  await change(false);
  expect((await ask(route, plaintext)).statusCode).not.toBe(403);
});

test('HEAD needs the scope of GET', async () => {
  expect((await ask('HEAD /v1/refunds', keys.get('refunds:read') ?? '')).statusCode).toBe(200);
  expect((await ask('HEAD /v1/refunds', keys.get('refunds:write') ?? '')).statusCode).toBe(403);
});

test('a key has every scope but those for approving and managing keys by default', async () => {
  const owner = { organizationId: service.organization.id, environment: 'test', actor: 'test' } as const;
  const { key } = await createApiKey(service.deps, owner);
  const rest = apiKeyScopes.filter((scope) => !key.scopes.includes(scope));
  expect(rest).toEqual(['refunds:approve', 'keys:manage']);
});

describe('the rate limit', () => {
  const limited = useService({ workers: 0, settings: { RATE_LIMIT_PER_SECOND: 1 } });

  async function statusesOf(key: string) {
    const headers = { authorization: `Bearer ${key}` };
    const statuses = new Set<number>();
    for (let sent = 0; sent < 20; sent += 1) {
      const url = '/v1/refunds/ref_1/approve';
      statuses.add((await limited.app.inject({ method: 'POST', url, headers })).statusCode);
    }
    return statuses;
  }

  test('is checked after the key and before the scope', async () => {
    const owner = { organizationId: limited.organization.id, environment: 'test' } as const;
    const { plaintext } = await createApiKey(limited.deps, { ...owner, actor: 'test' });
    expect(await statusesOf(plaintext)).toEqual(new Set([403, 429]));
    expect(await statusesOf(`svc_test_${'x'.repeat(32)}`)).toEqual(new Set([401]));
  });
});
