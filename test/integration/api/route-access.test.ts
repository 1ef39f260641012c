import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiKey, generateApiKey, revokeApiKey } from '../../../shared/organizations/api-keys.ts';
import type { Environment } from '../../../shared/platform/environment.ts';
import { newId } from '../../../shared/platform/ids.ts';
import { processorKind } from '../../../shared/processors/registry.ts';
import { noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import type { ProcessorName } from '../../support/processors/signed-webhooks.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { TestOrganization } from '../../support/service.ts';
import { type Recording, recordStatements } from '../../support/stores/statements.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint } from '../../support/webhooks/api-endpoints.ts';

/** What an id in a path names. */
type Resource = 'refund' | 'webhook endpoint' | 'agent key';

/**
 * Who may use a route.
 * - `api key`: holders of a valid key. An id in the path is a refund's unless `of` says whose.
 * - `anyone`: it shows no organization's data.
 * - `processor signature`: the processor of the account in the path, which signs the request.
 */
type Access =
  | { by: 'api key'; body?: object; of?: Resource }
  | { by: 'anyone' }
  | { by: 'processor signature'; processor: ProcessorName };

/** Every route. A registered route that is not listed here fails the first test. */
const table: Record<string, Access> = {
  'GET /v1/refunds': { by: 'api key' },
  'POST /v1/refunds': { by: 'api key', body: { transactionId: 'ch_1', amount: 1, reason: 'other' } },
  'GET /v1/refunds/:id': { by: 'api key' },
  'POST /v1/refunds/:id/cancel': { by: 'api key' },
  'POST /v1/refunds/:id/approve': { by: 'api key' },
  'POST /v1/refunds/:id/reject': { by: 'api key' },
  'GET /v1/refunds/:id/events': { by: 'api key' },
  'GET /v1/events': { by: 'api key' },
  'POST /mcp': { by: 'api key', body: { jsonrpc: '2.0', id: 1, method: 'ping' } },
  'POST /v1/policies/check': { by: 'api key', body: { transactionId: 'ch_1' } },
  'GET /v1/agent-keys': { by: 'api key' },
  'POST /v1/agent-keys': { by: 'api key', body: { name: 'Agent', limits: { currency: 'usd' } } },
  'PATCH /v1/agent-keys/:id': { by: 'api key', body: { status: 'stopped' }, of: 'agent key' },
  'DELETE /v1/agent-keys/:id': { by: 'api key', of: 'agent key' },
  'GET /v1/webhook-endpoints': { by: 'api key' },
  'POST /v1/webhook-endpoints': { by: 'api key', body: { url: 'nowhere' } },
  'GET /v1/webhook-endpoints/:id': ofEndpoint(),
  'PATCH /v1/webhook-endpoints/:id': ofEndpoint({ description: 'theirs' }),
  'DELETE /v1/webhook-endpoints/:id': ofEndpoint(),
  'POST /v1/webhook-endpoints/:id/rotate-secret': ofEndpoint({ overlapSeconds: 0 }),
  'POST /v1/webhook-endpoints/:id/test': ofEndpoint(),
  'GET /v1/webhook-endpoints/:id/deliveries': ofEndpoint(),
  'POST /v1/webhook-endpoints/:id/deliveries/:deliveryId/retry': ofEndpoint(),
  'POST /v1/webhook-endpoints/:id/replay': ofEndpoint({ since: '2026-01-01T00:00:00Z' }),
  'POST /webhooks/stripe/:accountId': { by: 'processor signature', processor: 'stripe' },
  'POST /webhooks/braintree/:accountId': { by: 'processor signature', processor: 'braintree' },
  // Braintree sends an unsigned challenge, which is answered with a signature.
  'GET /webhooks/braintree/:accountId': { by: 'anyone' },
  'GET /healthz': { by: 'anyone' },
  'GET /readyz': { by: 'anyone' },
  // Leads to the dashboard.
  'GET /': { by: 'anyone' },
  'GET /openapi.json': { by: 'anyone' },
  'GET /docs': { by: 'anyone' },
  'HEAD /docs/': { by: 'anyone' },
  'GET /docs/static/*': { by: 'anyone' },
  'GET /docs/static/index.html': { by: 'anyone' },
  'GET /docs/static/swagger-initializer.js': { by: 'anyone' },
  'GET /docs/static/theme/reference.css': { by: 'anyone' },
  'GET /docs/static/theme/favicon.svg': { by: 'anyone' },
  'GET /docs/json': { by: 'anyone' },
  'GET /docs/yaml': { by: 'anyone' },
};

function ofEndpoint(body?: object): Access {
  return { by: 'api key', of: 'webhook endpoint', ...(body === undefined ? {} : { body }) };
}

const registered = noteRegisteredRoutes();
let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());
const service = useService({
  workers: 0,
  settings: { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 },
  // This clock sends no statements.
  overrides: { clock: { now: () => new Date() } },
});
let own: TestOrganization;
let other: TestOrganization;
let revoked: string;
let expired: string;
beforeAll(async () => {
  own = service.organization;
  other = await service.addOrganization('Other');
  const request = { organizationId: own.id, environment: 'test', actor: 'test' } as const;
  const key = await createApiKey(service.deps, request);
  await revokeApiKey(service.deps, { keyId: key.id, actor: 'test' });
  revoked = key.plaintext;
  const late = await createApiKey(service.deps, request);
  await service.deps.db.apiKey.update({ where: { id: late.id }, data: { expiresAt: new Date() } });
  expired = late.plaintext;
  // Loads the pages with their routes.
  await service.app.inject('/');
});

interface Row {
  name: string;
  method: NonNullable<InjectOptions['method']>;
  url: string;
  access: Access;
}

/** The rows of the table, and HEAD, which Fastify adds to every GET. */
const rows: Row[] = Object.entries(table).flatMap(([route, access]) => {
  const [method = '', url = ''] = route.split(' ');
  const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
  return methods.map((one) => ({
    name: `${one} ${url}`,
    method: one as Row['method'],
    url,
    access,
  }));
});
const rowsBy = (by: Access['by']) => rows.filter(({ access }) => access.by === by);
/** For `test.each`, with names as titles. */
const named = (some: readonly Row[]) => some.map((row) => [row.name, row] as const);

type Headers = Record<string, string>;
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` });

const unknownIds: Record<Resource, string> = {
  refund: unknownRefundId,
  'webhook endpoint': newId('we'),
  'agent key': newId('key'),
};
const unknownDeliveryId = newId('del');
const resourceOf = ({ access }: Row) => (access.by === 'api key' ? access.of : undefined) ?? 'refund';
const unknownId = (row: Row) => unknownIds[resourceOf(row)];

async function ask(row: Row, headers: Headers, id = unknownId(row), query = '') {
  const url = `${row.url.replace(':deliveryId', unknownDeliveryId).replace(/:\w+/, id)}${query}`;
  const payload = row.access.by === 'api key' ? row.access.body : undefined;
  return await service.app.inject({
    method: row.method,
    url,
    headers,
    ...(payload === undefined ? {} : { payload }),
  });
}

/** A response as text, without its request id and date. */
function bytesOf({ statusCode, headers, body }: Awaited<ReturnType<typeof ask>>): string {
  const { date: _date, 'x-request-id': _id, ...others } = headers;
  return JSON.stringify({ statusCode, headers: others, body });
}

describe('the table of routes', () => {
  test('lists every registered route', async () => {
    const listed = new Set(rows.map(({ name }) => name));
    // Dashboard pages have tables of their own in access.test.ts and queue-board.test.ts.
    const others = registered.filter(
      ({ method, url }) => !listed.has(`${method} ${url}`) && !url.startsWith('/dashboard'),
    );
    const missing: string[] = [];
    for (const { method, url } of others) {
      // The 405 responses are routes as well.
      const answer = await service.app.inject({ method: method as 'GET', url });
      if (answer.statusCode !== 405) missing.push(`${method} ${url}`);
    }
    expect(missing, `Add ${missing.join(', ')} to the table at the top of ${import.meta.filename}.`).toEqual(
      [],
    );
  });

  test('lists no other route', () => {
    const names = new Set(registered.map(({ method, url }) => `${method} ${url}`));
    expect(rows.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([]);
  });
});

const refusal = JSON.stringify({
  error: {
    message: 'Send a valid API key as "Authorization: Bearer svc_test_..." or "svc_live_...".',
    code: 'invalid_api_key',
  },
});

/** Headers, and sometimes a query, without a valid key in the right place. */
const wrongCredentials: [what: string, headers: () => Headers, query?: () => string][] = [
  ['no key', () => ({})],
  ['an empty header', () => ({ authorization: '' })],
  ['a scheme alone', () => ({ authorization: 'Bearer' })],
  ['an empty key', () => ({ authorization: 'Bearer ' })],
  ['garbage', () => bearer("' OR 1=1--")],
  ['garbage that looks like a key', () => bearer(`svc_test_${'\u00e9'.repeat(32)}`)],
  ['a wildcard', () => bearer('svc_test_%')],
  ['a key that was never made', () => bearer(generateApiKey('test'))],
  ['a live key that was never made', () => bearer(generateApiKey('live'))],
  ['a revoked key', () => bearer(revoked)],
  ['an expired key', () => bearer(expired)],
  ['a test key that calls itself live', () => bearer(key().replace('svc_test_', 'svc_live_'))],
  ['a key that lacks a letter', () => bearer(key().slice(0, -1))],
  ['a key with a letter more', () => bearer(`${key()}x`)],
  ['a key in capitals', () => bearer(key().toUpperCase())],
  ['a key in small letters', () => bearer(key().toLowerCase())],
  ['a key without its prefix', () => bearer(key().slice('svc_test_'.length))],
  ["a key's id", () => bearer(own.keys.test.id)],
  ["a key's hash", () => bearer(`svc_test_${Buffer.from(key()).toString('hex')}`)],
  ['a key with its letters escaped', () => bearer(encodeURIComponent(key()).replace('svc', '%73vc'))],
  ['two keys', () => bearer(`${key()} ${other.keys.test.plaintext}`)],
  ['two keys with a comma', () => bearer(`${key()},${other.keys.test.plaintext}`)],
  ['a key without its scheme', () => ({ authorization: key() })],
  ['a key by Basic', () => ({ authorization: `Basic ${key()}` })],
  [
    'a key by Basic, encoded',
    () => ({ authorization: `Basic ${Buffer.from(`${key()}:`).toString('base64')}` }),
  ],
  ['a key by another scheme', () => ({ authorization: `Token ${key()}` })],
  ['a key behind another scheme', () => ({ authorization: `Basic Bearer ${key()}` })],
  ['a key in another header', () => ({ 'x-api-key': key(), 'proxy-authorization': `Bearer ${key()}` })],
  [
    'a key in a cookie',
    () => ({ cookie: `authorization=Bearer ${key()}; api_key=${key()}; session=${key()}` }),
  ],
  [
    'a key in the query',
    () => ({}),
    () => `?access_token=${key()}&api_key=${key()}&authorization=Bearer%20${key()}`,
  ],
  ['a header that names another user', () => ({ 'x-organization-id': own.id, 'x-forwarded-user': own.id })],
];
const key = () => own.keys.test.plaintext;

describe('without a valid API key', () => {
  test.each(named(rowsBy('api key')))('%s gives the same response for every cause', async (_name, row) => {
    const first = bytesOf(await ask(row, {}));
    for (const [what, headers, query] of wrongCredentials) {
      const answer = await ask(row, headers(), unknownId(row), query?.());
      expect(answer.statusCode, what).toBe(401);
      expect(answer.headers['www-authenticate'], what).toBe('Bearer');
      expect(answer.body, what).toBe(row.method === 'HEAD' ? '' : refusal);
      expect(bytesOf(answer), what).toBe(first);
    }
    // With a valid key the same request is let in.
    expect((await ask(row, bearer(key()))).statusCode).not.toBe(401);
  });
});

test.each(named(rowsBy('anyone')))(
  '%s gives the same response with and without a key',
  async (_name, row) => {
    const anonymous = await ask(row, {});
    expect([401, 403]).not.toContain(anonymous.statusCode);
    expect(anonymous.statusCode).toBeLessThan(500);
    expect(bytesOf(await ask(row, bearer(key())))).toBe(bytesOf(anonymous));
  },
);

const signedRows = named(rowsBy('processor signature'));
test.each(signedRows)('%s refuses requests that its processor did not sign', async (_name, row) => {
  if (row.access.by !== 'processor signature') throw new Error('The route is not for processors.');
  const where = { organizationId: own.id, environment: 'test' as const, processor: row.access.processor };
  const { id: accountId } = await service.deps.db.processorAccount.findFirstOrThrow({ where });
  const url = row.url.replace(':accountId', accountId);
  const forged = { 'stripe-signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}` };
  const { mediaType: type } = processorKind(row.access.processor).webhooks;
  const payload =
    type === 'application/json'
      ? '{"id":"evt_1","type":"refund.updated"}'
      : 'bt_signature=public|00&bt_payload=AA';
  const answers: string[] = [];
  for (const headers of [{}, bearer(key()), bearer(other.keys.live.plaintext), forged] as Headers[]) {
    const request = { method: row.method, url, headers: { 'content-type': type, ...headers }, payload };
    const answer = await service.app.inject(request);
    expect(answer.json().error.code).toBe('invalid_signature');
    answers.push(bytesOf(answer));
  }
  expect(new Set(answers).size).toBe(1);
  expect(await service.deps.db.processorEvent.count()).toBe(0);
});

const rowsWithId = rowsBy('api key').filter(({ url }) => url.includes(':id'));
const outsiders = [
  ['of another organization', 'test', () => other.keys.test.plaintext],
  ['of the other environment', 'test', () => own.keys.live.plaintext],
  ['of the other environment of another organization', 'test', () => other.keys.live.plaintext],
  ['of the test environment, for a live refund', 'live', () => own.keys.test.plaintext],
] as const;
const combinations = rowsWithId.flatMap((row) =>
  outsiders.map(([whose, environment, keyOf]) => [row.name, whose, { row, environment, keyOf }] as const),
);

async function refundIn(environment: Environment): Promise<string> {
  const transactionId = await newPayment(service, { environment });
  const { status, body } = await service.call('POST', '/v1/refunds', {
    key: own.keys[environment].plaintext,
    body: { transactionId, amount: 1_000, reason: 'other' },
  });
  expect(status).toBe(200);
  return body.data.id;
}

const endpointIds = new Map<Environment, string>();

/** One for each environment, because their number is limited. No request of another organization changes it. */
async function endpointIn(environment: Environment): Promise<string> {
  const known = endpointIds.get(environment);
  if (known !== undefined) return known;
  const { id } = await newEndpoint(service, { key: own.keys[environment].plaintext });
  endpointIds.set(environment, id);
  return id;
}

async function agentKeyIn(environment: Environment): Promise<string> {
  const owner = { organizationId: own.id, environment, actor: 'test' };
  return (await createApiKey(service.deps, { ...owner, agentLimits: { currency: 'usd' } })).id;
}

const makers: Record<Resource, (environment: Environment) => Promise<string>> = {
  refund: refundIn,
  'webhook endpoint': endpointIn,
  'agent key': agentKeyIn,
};
const resourceIn = async (row: Row, environment: Environment) => await makers[resourceOf(row)](environment);

async function storedResource(row: Row, id: string): Promise<unknown> {
  const where = { id };
  const { db } = service.deps;
  switch (resourceOf(row)) {
    case 'refund':
      return await db.refund.findUniqueOrThrow({ where });
    case 'webhook endpoint':
      return await db.webhookEndpoint.findUniqueOrThrow({ where, include: { deliveries: true } });
    case 'agent key':
      return await db.apiKey.findUniqueOrThrow({ where });
  }
}

describe('a resource of another organization or environment', () => {
  test.each(combinations)(
    'gets the response for an unknown id from %s with a key %s',
    async (_name, _whose, { row, environment, keyOf }) => {
      const id = await resourceIn(row, environment);
      const before = await storedResource(row, id);
      for (const more of [{}, { prefer: 'wait=20' }, { 'idempotency-key': 'one' }] as Headers[]) {
        const headers = { ...bearer(keyOf()), ...more };
        const headersOfOther =
          'idempotency-key' in more ? { ...headers, 'idempotency-key': 'another' } : headers;
        const refused = await ask(row, headers, id);
        expect(refused.statusCode).toBe(404);
        expect(bytesOf(refused)).toBe(bytesOf(await ask(row, headersOfOther)));
      }
      expect(await storedResource(row, id)).toEqual(before);
    },
  );

  const nonsense = [
    ...['ref_', 'ref_x', 'nonsense', '1', `ref_${'0'.repeat(26)}`, 'REF_01kahw3v6me8fbw6r5k2jdz7qs'],
    ...['org_01kahw3v6me8fbw6r5k2jdz7qs', 'we_', 'we_x', 'we_%00', 'del_01kahw3v6me8fbw6r5k2jdz7qs'],
  ];
  test.each(named(rowsWithId))(
    '%s gives malformed ids the response for an unknown one',
    async (_name, row) => {
      const unknown = bytesOf(await ask(row, bearer(key())));
      for (const id of nonsense) expect(bytesOf(await ask(row, bearer(key()), id)), id).toBe(unknown);
    },
  );
});

describe('the statements sent to PostgreSQL reveal nothing', () => {
  /** Every request notes the use of its key at most once a minute, whatever it asks for. */
  beforeEach(async () => {
    await service.deps.db.apiKey.updateMany({ data: { lastUsedAt: new Date(Date.now() + 3_600_000) } });
  });

  test.each(combinations)(
    'about an existing refund: %s with a key %s',
    async (_name, _whose, { row, environment, keyOf }) => {
      const id = await resourceIn(row, environment);
      const existing = await recording.during(() => ask(row, bearer(keyOf()), id));
      expect(existing.length).toBeGreaterThan(1);
      expect(await recording.during(() => ask(row, bearer(keyOf())))).toEqual(existing);
    },
  );

  test.each(named(rowsBy('api key')))('about a revoked or expired key: %s', async (_name, row) => {
    const statements = await recording.during(() => ask(row, bearer(revoked)));
    expect(statements).toHaveLength(1);
    for (const key of [expired, generateApiKey('test')]) {
      expect(await recording.during(() => ask(row, bearer(key)))).toEqual(statements);
    }
  });
});
