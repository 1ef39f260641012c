import { describe, expect, test } from 'vitest';
import { apiKeyScopes } from '#shared/organizations/api-keys.ts';
import { openLog } from '#shared/platform/log.ts';
import { auditOf } from '../../support/audit-log.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

const logged: string[] = [];
const log = openLog('debug', 'test', { write: (line: string) => void logged.push(line) });
const service = useService({ workers: 0, overrides: { log } });

const limits = {
  currency: 'usd',
  maxPerRefund: 5_000,
  maxPerPayment: 8_000,
  maxPerDay: 50_000,
  reasons: ['product_defective'],
  approvalAbove: 0,
};

const create = async (body: object = {}, key = service.organization.keys.test.plaintext) =>
  await service.call('POST', '/v1/agent-keys', { body: { name: 'Support agent', limits, ...body }, key });
const change = async (id: string, body: object) =>
  await service.call('PATCH', `/v1/agent-keys/${id}`, { body });
const listed = async (key = service.organization.keys.test.plaintext) =>
  (await service.call('GET', '/v1/agent-keys', { key })).body.data;
const actor = () => `key:${service.organization.keys.test.id}`;

describe('creating an agent key', () => {
  test('returns a key that works, once, with its limits as they were given', async () => {
    const { status, body } = await create();
    expect(status, JSON.stringify(body)).toBe(200);
    const { key, ...rest } = body.data;
    expect(key).toMatch(/^svc_test_[A-Za-z0-9]{32}$/);
    expect(rest).toEqual({
      id: expect.stringMatching(/^key_/),
      name: 'Support agent',
      environment: 'test',
      lastFour: key.slice(-4),
      scopes: ['refunds:read', 'refunds:write', 'policies:read'],
      limits,
      status: 'active',
      createdBy: actor(),
      createdAt: expect.stringMatching(/Z$/),
      lastUsedAt: null,
      expiresAt: null,
    });
    expect((await service.call('GET', '/v1/refunds', { key })).status).toBe(200);
    const [first] = await listed();
    expect(first).toEqual({ ...rest, lastUsedAt: first.lastUsedAt });
    const cells = await everyCell(service.databaseUrl);
    expect(cells.filter(({ text }) => text.includes(key))).toEqual([]);
    expect(logged.join('')).not.toContain(key.slice('svc_test_'.length));
    const detail = { environment: 'test', name: 'Support agent', limits };
    expect(await auditOf(service, rest.id)).toMatchObject([
      { action: 'key.created', actor: actor(), detail },
    ]);
  });

  test('takes scopes and an expiry, and limits that leave everything but the currency out', async () => {
    const { body } = await create({
      limits: { currency: 'EUR' },
      scopes: ['refunds:read'],
      expiresAt: '2030-01-01T01:00:00+01:00',
    });
    expect(body.data).toMatchObject({
      limits: { currency: 'eur' },
      scopes: ['refunds:read'],
      expiresAt: '2030-01-01T00:00:00.000Z',
    });
    expect(Object.keys(body.data.limits)).toEqual(['currency']);
  });

  test.each<[what: string, body: object, message: string]>([
    ['limits without a currency', { limits: { maxPerDay: 1 } }, 'limits.currency: must be an ISO 4217'],
    [
      'an expiry too far ahead',
      { expiresAt: '9999-12-31T23:59:59-12:00' },
      'expiresAt: must be at most 3650 days from now',
    ],
    ['an environment', { environment: 'live' }, 'environment: unknown field'],
    ...['refunds:approve', 'keys:manage'].map((scope): [string, object, string] => [
      `the scope ${scope}`,
      { scopes: ['refunds:read', scope] },
      'scopes.1: must be one of',
    ]),
  ])('is refused with %s', async (_what, body, message) => {
    const before = await listed();
    const answer = await create(body);
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_error']);
    expect(answer.body.error.message).toContain(message);
    expect(await listed()).toEqual(before);
  });

  test('belongs to the organization and environment of the calling key', async () => {
    const { live } = service.organization.keys;
    const { body } = await create({}, live.plaintext);
    expect(body.data.key).toMatch(/^svc_live_/);
    const ids = async (key: string) => (await listed(key)).map(({ id }: { id: string }) => id);
    expect(await ids(live.plaintext)).toEqual([body.data.id]);
    expect(await ids(service.organization.keys.test.plaintext)).not.toContain(body.data.id);
  });
});

describe('changing an agent key', () => {
  test('renames it, replaces its limits, stops and resumes it, with an audit entry for each change', async () => {
    const { id, key } = (await create()).body.data;
    const renamed = await change(id, { name: 'Night agent', limits: { currency: 'usd', maxPerDay: 100 } });
    expect(renamed.body.data).toMatchObject({ name: 'Night agent', status: 'active' });
    expect(renamed.body.data.limits).toEqual({ currency: 'usd', maxPerDay: 100 });
    expect((await change(id, { status: 'stopped' })).body.data.status).toBe('stopped');
    expect((await service.call('GET', '/v1/refunds', { key })).body.error.message).toContain('stopped');
    // Values that are unchanged are not written.
    const same = { limits: { maxPerDay: 100, currency: 'USD' } };
    await change(id, { status: 'stopped', name: 'Night agent', ...same });
    expect((await change(id, { status: 'active' })).body.data.status).toBe('active');
    expect((await service.call('GET', '/v1/refunds', { key })).status).toBe(200);
    expect((await change(id, {})).body.data).toMatchObject({ id, name: 'Night agent' });
    const audited = await auditOf(service, id);
    expect(audited.map(({ action }) => action).toSorted()).toEqual(
      ['key.created', 'key.limits_set', 'key.renamed', 'key.resumed', 'key.stopped'].toSorted(),
    );
    for (const entry of audited) expect(entry.actor).toBe(actor());
  });
});

test('an expired agent key is reported as such, also if it is stopped', async () => {
  const { id } = (await create({ expiresAt: '2030-01-01T00:00:00Z' })).body.data;
  await service.deps.db.apiKey.update({ where: { id }, data: { expiresAt: new Date(0) } });
  expect((await listed())[0]).toMatchObject({ id, status: 'expired' });
  expect((await change(id, { status: 'stopped' })).body.data.status).toBe('expired');
});

test('a revoked agent key is refused, not listed and not found', async () => {
  const { id, key } = (await create()).body.data;
  const revoked = await service.call('DELETE', `/v1/agent-keys/${id}`);
  expect([revoked.status, revoked.body]).toEqual([200, { data: { id, deleted: true } }]);
  expect((await service.call('GET', '/v1/refunds', { key })).status).toBe(401);
  expect((await listed()).map((each: { id: string }) => each.id)).not.toContain(id);
  expect((await service.call('DELETE', `/v1/agent-keys/${id}`)).status).toBe(404);
  expect((await change(id, { status: 'active' })).status).toBe(404);
  const last = (await auditOf(service, id)).at(-1);
  expect(last).toMatchObject({ action: 'key.revoked', actor: actor() });
});

test('keys that were not made for agents are neither listed nor changed nor revoked here', async () => {
  const { id } = await service.newKey({ scopes: apiKeyScopes });
  expect((await listed()).map((key: { id: string }) => key.id)).not.toContain(id);
  const before = await service.deps.db.apiKey.findUnique({ where: { id } });
  expect((await change(id, { status: 'stopped' })).status).toBe(404);
  expect((await service.call('DELETE', `/v1/agent-keys/${id}`)).status).toBe(404);
  expect(await service.deps.db.apiKey.findUnique({ where: { id } })).toEqual(before);
});
