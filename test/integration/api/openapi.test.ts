import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { publicEventTypes } from '../../../shared/events/event.ts';
import { apiKeyScopes } from '../../../shared/organizations/api-keys.ts';
import { errorCatalogue } from '../../../shared/platform/errors.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { ApiAnswer } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

const service = useService();
/** A response of an operation. */
interface Declared {
  description: string;
  content: { 'application/json': { schema: unknown; examples?: Record<string, { value: unknown }> } };
}

interface Webhook {
  parameters: { name: string; in: string; required: boolean }[];
  requestBody: {
    content: { 'application/json': { schema: unknown; examples: Record<'example', { value: unknown }> } };
  };
}

let served: ServedDocument;
// biome-ignore lint/suspicious/noExplicitAny: a validator checks the document's shape.
let document: any;
beforeAll(async () => {
  served = await readDocument(service);
  document = served.document;
});

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect([valid, validator.version]).toEqual([true, '3.1']);
  });

  test('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(document.info.version).toBe(version);
  });

  test('has named schemas and headers, all of them used', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(['Error', 'Event', 'Refund']),
    );
    for (const kind of ['schemas', 'headers']) {
      for (const name of Object.keys(document.components[kind])) {
        expect(JSON.stringify(document)).toContain(`"#/components/${kind}/${name}"`);
      }
    }
  });

  test('has every public route with exactly its methods', async () => {
    const routes = publicRoutes();
    expect(Object.keys(document.paths).toSorted()).toEqual(routes.toSorted());
    for (const path of routes) {
      for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
        const url = path.replace('{id}', 'ref_1').replace('{deliveryId}', 'del_1');
        const { statusCode } = await service.app.inject({ method, url });
        expect([path, method, statusCode === 405]).toEqual([path, method, !(method in document.paths[path])]);
      }
    }
  });

  test('lists every error code that the API sends', () => {
    const { description, properties } = document.components.schemas.Error;
    expect(properties.error.properties.code.enum).toEqual(Object.keys(errorCatalogue));
    for (const [code, { status }] of Object.entries(errorCatalogue)) {
      expect(description).toContain(`| ${status} | \`${code}\` |`);
    }
    // The introduction precedes the operations on the page, so the table is not in it.
    expect(document.info.description).not.toContain('|');
  });

  test('has an example of every response of every operation, as its schema has it', () => {
    for (const { method, path, operation } of served.operations) {
      for (const [status, { content }] of Object.entries<Declared>(operation.responses)) {
        const { schema, examples = {} } = content['application/json'];
        const where = `${method} ${path} ${status}`;
        expect(Object.keys(examples), `${where} has examples`).not.toEqual([]);
        const checked = served.schemaOf(schema);
        for (const { value } of Object.values(examples)) expect(checked.parse(value), where).toEqual(value);
      }
    }
  });

  test('has an example of every error code at every response that may send it', () => {
    for (const { method, path, operation } of served.operations) {
      for (const [status, { description, content }] of Object.entries<Declared>(operation.responses)) {
        if (Number(status) < 400 || !path.startsWith('/v1/')) continue;
        const { schema, examples = {} } = content['application/json'];
        const codes = [...description.matchAll(/^`(\w+)`: /gm)].map(([, code]) => code);
        expect(Object.keys(examples), `${method} ${path} ${status}`).toEqual(codes);
        for (const [code, { value }] of Object.entries(examples)) {
          expect(served.schemaOf(schema).parse(value)).toMatchObject({ error: { code } });
          expect(errorCatalogue).toHaveProperty([code, 'status'], Number(status));
        }
      }
    }
  });

  test('describes every operation, parameter, response and field', () => {
    expect(JSON.stringify(document)).not.toMatch(/undefined|Default Response|"description":"\s*"/);
    for (const { method, path, operation } of served.operations) {
      const where = `${method} ${path}`;
      expect(operation, where).toMatchObject({
        operationId: expect.stringMatching(/^[a-z]+[A-Za-z]*$/),
        summary: expect.stringMatching(/\S/),
        description: expect.stringMatching(/\S/),
        tags: [expect.stringMatching(/\S/)],
      });
      for (const parameter of operation.parameters ?? []) {
        expect(parameter.description, `${where} ${parameter.name}`).toMatch(/\S/);
      }
    }
    for (const [name, schema] of Object.entries<{ properties: object }>(document.components.schemas)) {
      for (const [field, { description }] of Object.entries(schema.properties)) {
        if (name !== 'Error') expect(description, `${name}.${field}`).toMatch(/\S/);
      }
    }
  });

  test('has examples that match its schemas', () => {
    for (const [name, schema] of Object.entries<{ examples: unknown[] }>(document.components.schemas)) {
      expect(schema.examples?.length, `${name} has an example`).toBeGreaterThan(0);
      for (const example of schema.examples)
        expect(served.schemaOf(schema).parse(example)).toMatchObject(example as object);
    }
  });

  test('has messages in its examples that the operation itself sends', () => {
    const messageOf = (method: string, path: string, status: number, code: string) =>
      document.paths[path][method].responses[status].content['application/json'].examples[code].value.error
        .message;
    expect([
      messageOf('post', '/v1/refunds', 400, 'validation_error'),
      messageOf('get', '/v1/refunds', 400, 'validation_error'),
      messageOf('get', '/v1/refunds/{id}', 400, 'validation_error'),
      messageOf('get', '/healthz', 400, 'validation_error'),
      messageOf('post', '/v1/policies/check', 403, 'insufficient_scope'),
    ]).toEqual([
      'transactionId: is required; amount: is required; reason: is required',
      'limit: must be at least 1',
      'limit: unknown parameter',
      'host: HTTP/1.1 requires this header.',
      'This requires the scope policies:read, which this API key does not have. Use another key.',
    ]);
  });

  test('describes every event that is sent, with its signature headers', () => {
    expect(Object.keys(document.webhooks)).toEqual([...publicEventTypes, 'webhook.test']);
    for (const [type, { post }] of Object.entries<{ post: Webhook }>(document.webhooks)) {
      expect(post.parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual(
        ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, 'header', true]),
      );
      const { schema, examples } = post.requestBody.content['application/json'];
      const component = type === 'webhook.test' ? 'TestEvent' : 'Event';
      expect(schema).toEqual({ $ref: `#/components/schemas/${component}` });
      const { value } = examples.example;
      expect(value).toMatchObject({ type });
      expect(served.schemaOf(schema).parse(value)).toEqual(value);
    }
  });

  test('requires bodies, keys and query parameters as the service does', () => {
    const bodies = served.operations.map(({ operation }) => [
      operation.operationId,
      operation.requestBody?.required,
    ]);
    expect(Object.fromEntries(bodies)).toMatchObject({
      health: undefined,
      createRefund: true,
      listRefunds: undefined,
      getRefund: undefined,
      cancelRefund: undefined,
      checkPolicy: true,
      createWebhookEndpoint: true,
      listWebhookEndpoints: undefined,
      getWebhookEndpoint: undefined,
      changeWebhookEndpoint: true,
      deleteWebhookEndpoint: undefined,
      rotateWebhookSecret: false,
      testWebhookEndpoint: undefined,
      listWebhookDeliveries: undefined,
      retryWebhookDelivery: undefined,
      replayWebhookDeliveries: true,
    });
    for (const { path, operation } of served.operations) {
      const [requirement] = operation.security;
      if (path.startsWith('/v1/')) expect(apiKeyScopes).toContain(requirement.apiKey[0]);
      else expect(operation.security).toEqual([]);
    }
    const { description } = document.components.securitySchemes.apiKey;
    for (const scope of apiKeyScopes) expect(description).toContain(`\`${scope}\``);
    const query = document.paths['/v1/refunds'].get.parameters;
    expect(
      query.map(({ name, schema: { type } }: { name: string; schema: { type: string } }) => [name, type]),
    ).toEqual([
      ...['status', 'processor', 'transactionId', 'reason', 'initiatedBy', 'currency'].map((name) => [
        name,
        'string',
      ]),
      ...['createdAfter', 'createdBefore'].map((name) => [name, 'string']),
      ...['amountMin', 'amountMax'].map((name) => [name, 'integer']),
      ['metadata', 'object'],
      ['limit', 'integer'],
      ['offset', 'integer'],
      ['after', 'string'],
    ]);
    const find = (name: string) => query.find((parameter: { name: string }) => parameter.name === name);
    expect(find('metadata')).toMatchObject({ style: 'deepObject', explode: true });
    const [include] = document.paths['/v1/refunds/{id}'].get.parameters;
    expect(include).toMatchObject({
      name: 'include',
      style: 'form',
      explode: false,
      schema: { type: 'array' },
    });
  });

  test('declares the errors that any route under /v1 may send', () => {
    for (const { path, operation } of served.operations.filter(({ path }) => path.startsWith('/v1/'))) {
      expect(Object.keys(operation.responses), path).toEqual(
        expect.arrayContaining(['200', '400', '401', '429', '500', '503']),
      );
    }
  });

  /** The routes of the router, except the documentation, the dashboard and processor webhooks. */
  function publicRoutes(): string[] {
    const trail: string[] = [];
    const paths: string[] = [];
    for (const line of service.app.printRoutes({ commonPrefix: false }).trimEnd().split('\n')) {
      const [, branch = '', segment = ''] = /^(.*?── )(\S+)/.exec(line) ?? [];
      trail.splice(branch.length / 4 - 1, Number.POSITIVE_INFINITY, segment);
      paths.push(trail.join('').replace(/:(\w+)/g, '{$1}'));
    }
    return paths.filter((path) => !/^\/($|docs|openapi\.json|webhooks|dashboard|mcp)/.test(path));
  }
});

describe('the documentation page', () => {
  test('loads all its files from this service', async () => {
    const page = await service.app.inject('/docs/');
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? '');
    expect(assets.length).toBeGreaterThan(5);
    for (const asset of assets) {
      expect(asset).toMatch(/^\.\//);
      const { statusCode, rawPayload } = await service.app.inject(`/docs/${asset.slice(2)}`);
      expect([asset, statusCode, rawPayload.length > 0]).toEqual([asset, 200, true]);
    }
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    expect((await service.app.inject('/docs')).statusCode).toBe(200);
  });

  test('shows no logo and no name but ours', async () => {
    const page = await service.app.inject('/docs');
    expect(page.body).toContain('<title>Refund service API</title>');
    expect(page.body).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(page.body).toContain('/theme/favicon.svg');
    const { body } = await service.app.inject('/docs/static/swagger-initializer.js');
    expect(body).toContain('"layout":"BaseLayout"');
    // The default is the logo of the framework.
    expect(body).toContain(`base64,${readFileSync('api/dashboard/assets/favicon.svg', 'base64')}'`);
  });

  test('shows this document', async () => {
    const shown = await service.app.inject('/docs/json');
    expect(shown.json()).toEqual(document);
  });
});

const valid = { amount: 1_000, reason: 'other' };
const wrong = { key: 'svc_test_wrong' };
const payment = async (options = {}) => await newPayment(service, options);
const post = async (url: string, body?: unknown, options: object = {}) =>
  await service.call('POST', url, { body, ...options });
const create = async (transactionId: string, body: object = {}, options: object = {}) =>
  await post('/v1/refunds', { transactionId, ...valid, ...body }, options);
const created = async () =>
  (await create(await payment({ paymentMethod: 'customer_balance' }))).body.data.id as string;
const cancel = async (id: string, body?: unknown, options: object = {}) =>
  await post(`/v1/refunds/${id}/cancel`, body, options);
const check = async (body: unknown, options: object = {}) => await post('/v1/policies/check', body, options);
const get = async (path = '', options: object = {}) =>
  await service.call('GET', `/v1/refunds${path}`, options);
const xml = { headers: { 'content-type': 'text/xml' } };
const large = { metadata: 'x'.repeat(70_000) };

/** Sends two different requests with the same key. */
const reused = async (url: string, body?: object) => {
  const options = { headers: { 'idempotency-key': `reused${url}` } };
  await post(url, body, options);
  return body === undefined
    ? await cancel(await created(), body, options)
    : await post(url, { ...body, amount: 2 }, options);
};

const denied = async () => {
  const { id: organizationId, keys } = await service.addOrganization('Strict');
  const policies = [{ name: 'No', priority: 1, finalSale: true, enforce: { api: true, dashboard: true } }];
  await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
  return await create(await payment(), {}, { key: keys.test.plaintext });
};

const faulty = async () => {
  const fault = vi.spyOn(service.deps.connections, 'connect').mockImplementation(() => {
    throw new Error('a fault');
  });
  return await create(await payment()).finally(() => fault.mockRestore());
};

const withoutProcessors = async (ask: () => Promise<ApiAnswer>, kind = 'error-503') => {
  for (const processor of ['stripe', 'braintree']) {
    await service.sandbox.fault({ processor, operation: '*', kind, times: null });
  }
  return await ask().finally(() => service.sandbox.clearFaults());
};

const twice = async () => {
  const transactionId = await payment();
  await create(transactionId, { amount: 10_000 });
  return await create(transactionId);
};

const cancelledTwice = async () => {
  const id = await created();
  await cancel(id);
  return await cancel(id);
};

const url = 'http://127.0.0.1:9/hooks';

const onEndpoint = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
  const { plaintext: key } = (await service.addOrganization('Webhooks')).keys.test;
  const { id } = await newEndpoint(service, { key });
  return await service.call(method, `/v1/webhook-endpoints/${id}${path}`, { key, body });
};

const withDelivery = async () => {
  const { id } = await newEndpoint(service);
  const { id: deliveryId } = await storeDelivery(service, id);
  const attempt = {
    deliveryId,
    number: 1,
    startedAt: new Date(),
    responseStatus: 500,
    error: 'unsuccessful_status',
  };
  await service.deps.db.webhookAttempt.create({ data: attempt });
  return await service.call('GET', `/v1/webhook-endpoints/${id}/deliveries`);
};

test.each<[operationId: string, status: number, ask: () => Promise<ApiAnswer>]>([
  ['health', 200, async () => await service.call('GET', '/healthz')],
  ['readiness', 200, async () => await service.call('GET', '/readyz')],
  ['createRefund', 200, async () => await create(await payment(), { metadata: { a: [1, null] } })],
  ['createRefund', 200, async () => await create(await payment(), { dryRun: true })],
  ['createRefund', 200, async () => await create('ch_missing', { dryRun: true })],
  ['createRefund', 400, async () => await create(await payment(), { amount: 0 })],
  ['createRefund', 401, async () => await create('ch_1', {}, wrong)],
  ['createRefund', 403, denied],
  ['createRefund', 409, twice],
  ['createRefund', 413, async () => await create('ch_1', large)],
  ['createRefund', 415, async () => await post('/v1/refunds', '<a/>', xml)],
  [
    'createRefund',
    422,
    async () => await reused('/v1/refunds', { transactionId: await payment(), ...valid }),
  ],
  ['createRefund', 500, faulty],
  ['createRefund', 502, async () => await create('ch_missing')],
  ['createRefund', 503, async () => await withoutProcessors(() => create('anybodys'))],
  ['listRefunds', 200, async () => await get()],
  ['listRefunds', 400, async () => await get('?limit=0')],
  ['listRefunds', 400, async () => await get(`?after=${unknownRefundId}`)],
  ['listRefunds', 401, async () => await get('', wrong)],
  ['getRefund', 200, async () => await get(`/${await created()}`)],
  ['getRefund', 200, async () => await get(`/${await created()}?include=failure,cancellable`)],
  ['getRefund', 400, async () => await get(`/${unknownRefundId}?include=attempts`)],
  ['getRefund', 401, async () => await get(`/${unknownRefundId}`, wrong)],
  ['getRefund', 404, async () => await get(`/${unknownRefundId}`)],
  ['listRefundEvents', 200, async () => await get(`/${await created()}/events`)],
  ['listRefundEvents', 401, async () => await get(`/${unknownRefundId}/events`, wrong)],
  ['listRefundEvents', 404, async () => await get(`/${unknownRefundId}/events`)],
  ['listEvents', 200, async () => await service.call('GET', '/v1/events', { headers: { prefer: 'wait=1' } })],
  ['listEvents', 400, async () => await service.call('GET', '/v1/events?after=evt_1')],
  ['listEvents', 401, async () => await service.call('GET', '/v1/events', wrong)],
  ['cancelRefund', 200, async () => await cancel(await created())],
  [
    'cancelRefund',
    400,
    async () => await cancel(unknownRefundId, undefined, { headers: { 'idempotency-key': '' } }),
  ],
  ['cancelRefund', 401, async () => await cancel(unknownRefundId, {}, wrong)],
  ['cancelRefund', 404, async () => await cancel(unknownRefundId)],
  ['cancelRefund', 409, cancelledTwice],
  ['cancelRefund', 413, async () => await cancel(unknownRefundId, large)],
  ['cancelRefund', 422, async () => await reused(`/v1/refunds/${await created()}/cancel`)],
  ['checkPolicy', 200, async () => await check({ transactionId: await payment() })],
  ['checkPolicy', 400, async () => await check({})],
  ['checkPolicy', 401, async () => await check({}, wrong)],
  ['checkPolicy', 413, async () => await check(large)],
  ['checkPolicy', 415, async () => await check('<a/>', xml)],
  [
    'checkPolicy',
    502,
    async () => await withoutProcessors(() => check({ transactionId: 'ch_silent' }), 'error-403'),
  ],
  ['createWebhookEndpoint', 200, async () => await post('/v1/webhook-endpoints', { url })],
  ['createWebhookEndpoint', 400, async () => await post('/v1/webhook-endpoints', {})],
  ['createWebhookEndpoint', 413, async () => await post('/v1/webhook-endpoints', large)],
  ['createWebhookEndpoint', 415, async () => await post('/v1/webhook-endpoints', '<a/>', xml)],
  ['listWebhookEndpoints', 200, async () => await service.call('GET', '/v1/webhook-endpoints')],
  ['getWebhookEndpoint', 200, async () => await onEndpoint('GET', '')],
  ['getWebhookEndpoint', 404, async () => await service.call('GET', '/v1/webhook-endpoints/we_1')],
  ['changeWebhookEndpoint', 200, async () => await onEndpoint('PATCH', '', { status: 'disabled' })],
  ['changeWebhookEndpoint', 400, async () => await onEndpoint('PATCH', '', { events: [] })],
  ['deleteWebhookEndpoint', 200, async () => await onEndpoint('DELETE', '')],
  ['rotateWebhookSecret', 200, async () => await onEndpoint('POST', '/rotate-secret')],
  [
    'rotateWebhookSecret',
    400,
    async () => await onEndpoint('POST', '/rotate-secret', { overlapSeconds: -1 }),
  ],
  ['testWebhookEndpoint', 200, async () => await onEndpoint('POST', '/test')],
  ['listWebhookDeliveries', 200, withDelivery],
  ['retryWebhookDelivery', 404, async () => await onEndpoint('POST', '/deliveries/del_1/retry')],
  [
    'replayWebhookDeliveries',
    200,
    async () => await onEndpoint('POST', '/replay', { since: '2026-01-01T00:00:00Z' }),
  ],
  ['replayWebhookDeliveries', 400, async () => await onEndpoint('POST', '/replay', {})],
  ['checkPolicy', 503, async () => await withoutProcessors(() => check({ transactionId: 'anybodys' }))],
])('declares the response of %s with status %d as the service sends it', async (operationId, status, ask) => {
  const answer = await ask();
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  const found = served.operations.find(({ operation }) => operation.operationId === operationId);
  const declared = found?.operation.responses[status];
  expect(declared, `${operationId} declares ${status}`).toBeDefined();
  const schema = served.schemaOf(declared.content['application/json'].schema);
  expect(schema.parse(answer.body)).toEqual(answer.body);
  if (status >= 400) expect(declared.description).toContain(`\`${answer.body.error.code}\``);
  for (const name of ['X-Request-Id', 'Retry-After', 'WWW-Authenticate', 'Preference-Applied', 'Location']) {
    if (name.toLowerCase() in answer.headers) expect(declared.headers).toHaveProperty(name);
  }
  expect(declared.headers).toHaveProperty('X-Request-Id');
});
