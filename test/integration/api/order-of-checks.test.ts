import { beforeAll, describe, expect, test } from 'vitest';
import { apiKeyScopes, createApiKey } from '#shared/organizations/api-keys.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });

/** Requests with several faults get the first one of this order. */
describe('the order of checks', () => {
  const badJson = '{"amount":';
  const json = { 'content-type': 'application/json' };
  const xml = { 'content-type': 'text/xml' };
  const key = () => ({ authorization: `Bearer ${service.organization.keys.test.plaintext}` });
  let reading: string;
  beforeAll(async () => {
    const { id: organizationId } = service.organization;
    const request = { organizationId, environment: 'test', actor: 'test', scopes: ['refunds:read'] } as const;
    reading = (await createApiKey(service.deps, request)).plaintext;
  });
  const readingKey = () => ({ authorization: `Bearer ${reading}` });

  test.each([
    ['the route before the key', 'GET', '/v1/nowhere', () => ({}), undefined, 404],
    ['the method before the key', 'PUT', '/v1/refunds', () => ({}), undefined, 405],
    ['the key before the media type', 'POST', '/v1/refunds', () => xml, '<a/>', 401],
    ['the key before the body', 'POST', '/v1/refunds', () => json, badJson, 401],
    [
      'the scope before the media type',
      'POST',
      '/v1/refunds',
      () => ({ ...readingKey(), ...xml }),
      '<a/>',
      403,
    ],
    ['the scope before the body', 'POST', '/v1/refunds', () => ({ ...readingKey(), ...json }), badJson, 403],
    ['the scope before the refund', 'POST', '/v1/refunds/ref_1/cancel', readingKey, undefined, 403],
    ['the media type before the body', 'POST', '/v1/refunds', () => ({ ...key(), ...xml }), badJson, 415],
    [
      'the size before the body',
      'POST',
      '/v1/refunds',
      () => ({ ...key(), ...json }),
      badJson + ' '.repeat(70_000),
      413,
    ],
  ] as const)('is %s', async (_order, method, url, headers, payload, status) => {
    const body = payload === undefined ? {} : { payload };
    const answer = await service.app.inject({ method, url, headers: headers(), ...body });
    expect(answer.statusCode).toBe(status);
  });
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
    const owner = { organizationId: limited.organization.id, environment: 'test', actor: 'test' } as const;
    const { key, plaintext } = await createApiKey(limited.deps, owner);
    // By default, a key has every scope but these.
    const rest = apiKeyScopes.filter((scope) => !key.scopes.includes(scope));
    expect(rest).toEqual(['refunds:approve', 'webhooks:manage', 'keys:manage']);
    expect(await statusesOf(plaintext)).toEqual(new Set([403, 429]));
    expect(await statusesOf(`svc_test_${'x'.repeat(32)}`)).toEqual(new Set([401]));
  });
});
