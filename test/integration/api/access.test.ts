import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tools } from '#api/mcp/tools.ts';
import { operations } from '#api/operations/operations.ts';
import {
  type ApiKeyScope,
  apiKeyScopes,
  generateApiKey,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { processorKind } from '#shared/processors/registry.ts';
import type { ProcessorName } from '../../sandbox/processors.ts';
import { exampleBodyOf } from '../../support/http/example-requests.ts';
import { expectDeclared, readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import { noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { TestOrganization } from '../../support/service.ts';
import { type Recording, recordStatements } from '../../support/stores/statements.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint } from '../../support/webhooks/api-endpoints.ts';

type Method = NonNullable<InjectOptions['method']>;

/** A route for API keys, with a valid body. */
interface Row {
  method: Method;
  path: string;
  body: object | undefined;
  scope: ApiKeyScope | null;
  alsoNeeds?: ApiKeyScope | undefined;
}

/** Every operation with its own example as the body, HEAD, which Fastify adds to every GET, and the tools for agents. */
const rows: Row[] = [
  ...operations.flatMap((operation): Row[] => {
    const { method, path, scope, alsoNeeds } = operation;
    const row = { method, path, scope, alsoNeeds, body: exampleBodyOf(operation) };
    return method === 'GET' ? [row, { ...row, method: 'HEAD' }] : [row];
  }),
  { method: 'POST', path: '/mcp', body: { jsonrpc: '2.0', id: 1, method: 'ping' }, scope: null },
];

/** Every other route, by who may use it. Dashboard pages have tables of their own in `test/integration/dashboard`. */
const open = [
  ...['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs'],
  ...['reference.js', 'start.js', 'reference.css', 'reference.json', 'favicon.svg'].map(
    (file) => `GET /docs/${file}`,
  ),
  // Leads to the dashboard.
  'GET /',
  // Braintree sends an unsigned challenge, which is answered with a signature.
  'GET /webhooks/braintree/:accountId',
];
const signed: [route: string, processor: ProcessorName][] = [
  ['POST /webhooks/stripe/:accountId', 'stripe'],
  ['POST /webhooks/braintree/:accountId', 'braintree'],
];

const nameOf = ({ method, path }: Row) => `${method} ${path}`;
/** For `test.each`, with names as titles. */
const named = (some: readonly Row[]) => some.map((row) => [nameOf(row), row] as const);

const registered = noteRegisteredRoutes();
let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());
/** The service's time in a test: a request that lasts long does not read its key again. */
let now = new Date();
const service = useService({
  workers: 0,
  settings: { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 },
  // This clock sends no statements.
  overrides: { clock: { now: () => now } },
});
let served: ServedDocument;
let own: TestOrganization;
let other: TestOrganization;
const bad = { revoked: '', expired: '', stopped: '' };
const keysByScope = new Map<ApiKeyScope, string>();

beforeAll(async () => {
  own = service.organization;
  other = await service.addOrganization('Other');
  const [revoked, expired, stopped] = [
    await service.newKey(),
    await service.newKey(),
    await service.newKey({ scopes: apiKeyScopes }),
  ];
  await revokeApiKey(service.deps, { keyId: revoked.id, actor: 'test' });
  await service.deps.db.apiKey.update({ where: { id: expired.id }, data: { expiresAt: new Date() } });
  await changeApiKey(service.deps, { keyId: stopped.id, actor: 'test', change: { isStopped: true } });
  Object.assign(bad, {
    revoked: revoked.plaintext,
    expired: expired.plaintext,
    stopped: stopped.plaintext,
  });
  for (const scope of apiKeyScopes)
    keysByScope.set(scope, (await service.newKey({ scopes: [scope] })).plaintext);
  // Loads the pages with their routes.
  served = await readDocument(service);
});
/** Every request notes the use of its key at most once a minute, whatever it asks for. */
beforeEach(async () => {
  now = new Date();
  await service.deps.db.apiKey.updateMany({ data: { lastUsedAt: new Date(Date.now() + 3_600_000) } });
});

/** What the first id in a path names, by the beginning of the path. */
interface Resource {
  unknownId: string;
  make(environment: Environment): Promise<string>;
  stored(id: string): Promise<unknown>;
}

const resources: Record<string, Resource> = {
  '/v1/refunds': {
    unknownId: unknownRefundId,
    async make(environment) {
      const sent = { key: own.keys[environment].plaintext, payment: { environment } };
      return (await newRefund(service, {}, sent)).id;
    },
    stored: async (id) => await service.deps.db.refund.findUniqueOrThrow({ where: { id } }),
  },
  '/v1/refund-batches': {
    unknownId: newId('bat'),
    async make(environment) {
      const rows = [{ transactionId: 'ch_any', remaining: true, reason: 'other' }];
      const { status, body } = await service.call('POST', '/v1/refund-batches', {
        key: own.keys[environment].plaintext,
        body: { rows },
      });
      expect(status).toBe(200);
      return body.data.id;
    },
    stored: async (id) =>
      await service.deps.db.refundBatch.findUniqueOrThrow({ where: { id }, include: { rows: true } }),
  },
  '/v1/webhook-endpoints': {
    unknownId: newId('we'),
    make: async (environment) => (await newEndpoint(service, { key: own.keys[environment].plaintext })).id,
    stored: async (id) => {
      const include = { deliveries: true };
      return await service.deps.db.webhookEndpoint.findUniqueOrThrow({ where: { id }, include });
    },
  },
  '/v1/agent-keys': {
    unknownId: newId('key'),
    async make(environment) {
      return (await service.newKey({ environment, agentLimits: { currency: 'usd' } })).id;
    },
    stored: async (id) => await service.deps.db.apiKey.findUniqueOrThrow({ where: { id } }),
  },
};

/** One of each kind for each environment. No request of another organization changes it. */
const existing = new Map<string, Promise<string>>();

function existingId(resource: Resource, environment: Environment): Promise<string> {
  const name = `${resource.unknownId} ${environment}`;
  const id = existing.get(name) ?? resource.make(environment);
  existing.set(name, id);
  return id;
}

function resourceOf({ path }: Row): Resource {
  const found = Object.entries(resources).find(([prefix]) => path.startsWith(prefix));
  if (found === undefined) throw new Error(`Add what the id in ${path} names to the resources of this file.`);
  return found[1];
}

type Headers = Record<string, string>;
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` });
const key = () => own.keys.test.plaintext;
const unknownDeliveryId = newId('del');

async function ask(row: Row, headers: Headers, { id, query = '' }: { id?: string; query?: string } = {}) {
  const filled = row.path
    .replace(':id', () => id ?? resourceOf(row).unknownId)
    // The sandbox has a payment by any such id.
    .replace(':transactionId', 'ch_any');
  const answer = await service.app.inject({
    method: row.method,
    url: `${filled.replace(':deliveryId', unknownDeliveryId)}${query}`,
    headers,
    ...(row.body === undefined ? {} : { payload: row.body }),
  });
  if (row.scope !== null && row.method !== 'HEAD') {
    const { statusCode: status, headers: sent } = answer;
    expectDeclared(served, row, { status, headers: sent, body: answer.json() });
  }
  return answer;
}

/** A response as text, without its request id and date. */
function bytesOf({ statusCode, headers, body }: Awaited<ReturnType<typeof ask>>): string {
  const { date: _date, 'x-request-id': _id, ...others } = headers;
  return JSON.stringify({ statusCode, headers: others, body });
}

const expectError = (row: Row, body: string, error: object) =>
  expect(row.method === 'HEAD' ? { error } : JSON.parse(body)).toEqual({ error });

test('every registered route is an operation or listed in this file, and nothing else is', () => {
  const listed = [...rows.map(nameOf), ...signed.map(([route]) => route), ...open.flatMap(withHead)];
  const found = registered
    .filter(({ url, isRefusal }) => !isRefusal && !url.startsWith('/dashboard'))
    .map(({ method, url }) => `${method} ${url}`);
  expect([...new Set(found)].toSorted()).toEqual(listed.toSorted());
});

function withHead(route: string): string[] {
  return route.startsWith('GET ') ? [route, route.replace('GET', 'HEAD')] : [route];
}

/** Headers, and sometimes a query, without a valid key in the right place. */
const wrongCredentials: [what: string, headers: () => Headers, query?: () => string][] = [
  ['no key', () => ({})],
  ['a key that was never made', () => bearer(generateApiKey('test'))],
  ['a revoked key', () => bearer(bad.revoked)],
  ['an expired key', () => bearer(bad.expired)],
  ['a scheme alone', () => ({ authorization: 'Bearer' })],
  ['garbage', () => bearer("' OR 1=1--")],
  ['garbage that looks like a key', () => bearer(`svc_test_${'\u00e9'.repeat(32)}`)],
  ['a test key that calls itself live', () => bearer(key().replace('svc_test_', 'svc_live_'))],
  ['a key with a letter more', () => bearer(`${key()}x`)],
  ['a key in small letters', () => bearer(key().toLowerCase())],
  ["a key's hash", () => bearer(`svc_test_${Buffer.from(key()).toString('hex')}`)],
  ['two keys', () => bearer(`${key()} ${other.keys.test.plaintext}`)],
  ['a key without its scheme', () => ({ authorization: key() })],
  ['a key by Basic', () => ({ authorization: `Basic ${Buffer.from(`${key()}:`).toString('base64')}` })],
  ['a key in another header', () => ({ 'x-api-key': key(), 'proxy-authorization': `Bearer ${key()}` })],
  ['a key in a cookie', () => ({ cookie: `authorization=Bearer ${key()}; session=${key()}` })],
  ['a key in the query', () => ({}), () => `?access_token=${key()}&authorization=Bearer%20${key()}`],
];

describe.each(named(rows))('%s', (_name, row) => {
  test('gives the same 401 for every cause, also in what it asks of the database', async () => {
    const first = bytesOf(await ask(row, {}));
    // One hook reads the credentials of all routes.
    const tried = row === rows[0] ? wrongCredentials : wrongCredentials.slice(0, 4);
    for (const [what, headers, query] of tried) {
      const answer = await ask(row, headers(), query && { query: query() });
      expect([answer.statusCode, answer.headers['www-authenticate']], what).toEqual([401, 'Bearer']);
      expectError(row, answer.body, {
        message: 'Send a valid API key as "Authorization: Bearer svc_test_..." or "svc_live_...".',
        code: 'invalid_api_key',
      });
      expect(bytesOf(answer), what).toBe(first);
    }
    const statements = await recording.during(() => ask(row, bearer(bad.revoked)));
    expect(statements).toHaveLength(1);
    for (const unusable of [bad.expired, generateApiKey('test')]) {
      expect(await recording.during(() => ask(row, bearer(unusable)))).toEqual(statements);
    }
  });
});

/** What the example leads to where it does not succeed with a resource that was just made. */
const otherStatuses: Record<string, number> = {
  // It does not await approval.
  '/v1/refunds/:id/approve': 409,
  '/v1/refunds/:id/reject': 409,
  '/v1/webhook-endpoints/:id/deliveries/:deliveryId/retry': 404,
};
const operationRows = rows.filter(({ scope }) => scope !== null);

describe.each(named(operationRows))('%s', (_name, row) => {
  test('carries out its own example for a key with its scope alone, and refuses every other', async () => {
    const keys = new Map(keysByScope);
    if (row.scope !== null && row.alsoNeeds !== undefined) {
      const { statusCode, body } = await ask(row, bearer(keysByScope.get(row.scope) ?? ''));
      expect([statusCode, body]).toEqual([403, expect.stringContaining(`the scope ${row.alsoNeeds}`)]);
      keys.set(row.scope, (await service.newKey({ scopes: [row.scope, row.alsoNeeds] })).plaintext);
    }
    for (const [scope, plaintext] of keys) {
      const isOwn = scope === row.scope && row.path.includes(':id');
      const resource = isOwn ? { id: await resourceOf(row).make('test') } : {};
      const { statusCode, body } = await ask(row, bearer(plaintext), resource);
      if (scope === row.scope) {
        expect(statusCode, body).toBe(otherStatuses[row.path] ?? 200);
        continue;
      }
      expect(statusCode, scope).toBe(403);
      expectError(row, body, {
        code: 'insufficient_scope',
        message: `This requires the scope ${row.scope}, which this API key does not have. Use another key.`,
      });
    }
  });

  test('refuses a stopped key', async () => {
    const { statusCode, body } = await ask(row, bearer(bad.stopped));
    expect(statusCode).toBe(403);
    const message = expect.stringMatching(/^This API key is stopped\./);
    expectError(row, body, { code: 'insufficient_scope', message });
  });
});

const outsiders = [
  ['another organization', 'test', () => other.keys.test.plaintext],
  ['the other environment', 'test', () => own.keys.live.plaintext],
  ['the test environment, for a live id', 'live', () => own.keys.test.plaintext],
] as const;

const nonsense = ['ref_', 'nonsense', `ref_${'0'.repeat(26)}`, 'org_01kahw3v6me8fbw6r5k2jdz7qs', 'we_%00'];

describe.each(named(operationRows.filter(({ path }) => path.includes(':id'))))('%s', (_name, row) => {
  test.each(outsiders)(
    'gives a key of %s the answer for an unknown id, changes nothing, and asks the database for the same',
    async (_whose, environment, keyOf) => {
      const { stored } = resourceOf(row);
      const id = await existingId(resourceOf(row), environment);
      const before = await stored(id);
      for (const [more, again] of [
        [{}, {}],
        [{ prefer: 'wait=20' }, { prefer: 'wait=20' }],
        [{ 'idempotency-key': 'one' }, { 'idempotency-key': 'another' }],
      ] as [Headers, Headers][]) {
        const refused = await ask(row, { ...bearer(keyOf()), ...more }, { id });
        expect(refused.statusCode).toBe(404);
        expect(bytesOf(refused)).toBe(bytesOf(await ask(row, { ...bearer(keyOf()), ...again })));
      }
      expect(await stored(id)).toEqual(before);
      // The failed request is stored after its answer, and whenever that may be.
      const asked = async (names: { id?: string }) =>
        (await recording.during(() => ask(row, bearer(keyOf()), names))).filter(
          (text) => !text.includes('INTO failed_request'),
        );
      const statements = await asked({ id });
      expect(statements.length).toBeGreaterThan(1);
      expect(await asked({})).toEqual(statements);
    },
  );

  test('gives malformed ids the answer for an unknown one', async () => {
    const unknown = bytesOf(await ask(row, bearer(key())));
    for (const id of nonsense) expect(bytesOf(await ask(row, bearer(key()), { id })), id).toBe(unknown);
  });
});

test.each(open.flatMap(withHead))('%s gives the same response with and without a key', async (route) => {
  const [method = '', path = ''] = route.split(' ');
  const row: Row = { method: method as Method, path, body: undefined, scope: null };
  const anonymous = await ask(row, {});
  expect([401, 403]).not.toContain(anonymous.statusCode);
  expect(anonymous.statusCode).toBeLessThan(500);
  expect(bytesOf(await ask(row, bearer(key())))).toBe(bytesOf(anonymous));
});

test.each(signed)('%s refuses requests that its processor did not sign', async (route, processor) => {
  const where = { organizationId: own.id, environment: 'test' as const, processor };
  const { id } = await service.deps.db.processorAccount.findFirstOrThrow({ where });
  const url = route.replace('POST ', '').replace(':accountId', id);
  const forged = { 'stripe-signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}` };
  const { mediaType } = processorKind(processor).webhooks;
  const payload =
    mediaType === 'application/json'
      ? '{"id":"evt_1","type":"refund.updated"}'
      : 'bt_signature=public|00&bt_payload=AA';
  const answers: string[] = [];
  for (const headers of [{}, bearer(key()), bearer(other.keys.live.plaintext), forged]) {
    const sent = {
      method: 'POST' as const,
      url,
      headers: { 'content-type': mediaType, ...headers },
      payload,
    };
    const answer = await service.app.inject(sent);
    expect(answer.json().error.code).toBe('invalid_signature');
    answers.push(bytesOf(answer));
  }
  expect(new Set(answers).size).toBe(1);
  expect(await service.deps.db.processorEvent.count()).toBe(0);
});

test.each(tools)(
  'the tool $name needs the scope of its operation, and no other',
  async ({ operation, name }) => {
    const args = { refundId: unknownRefundId };
    const params = {
      name,
      arguments: operation.params === undefined ? (exampleBodyOf(operation) ?? {}) : args,
    };
    for (const [scope, plaintext] of [...keysByScope, ['stopped', bad.stopped] as const]) {
      const accept = 'application/json, text/event-stream';
      const answer = await service.app.inject({
        method: 'POST',
        url: '/mcp',
        headers: { ...bearer(plaintext), accept },
        payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      });
      const isRefused = answer.body.includes('"code":"insufficient_scope"');
      expect([scope, answer.statusCode, isRefused]).toEqual([scope, 200, scope !== operation.scope]);
    }
  },
);
