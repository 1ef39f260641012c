import { beforeAll, expect, test, vi } from 'vitest';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { PROCESSORS } from '../../sandbox/ledger/ledger.ts';
import { readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { ApiAnswer } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

const service = useService();

let served: ServedDocument;
beforeAll(async () => {
  served = await readDocument(service);
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
  for (const processor of PROCESSORS) {
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
  const told = { responseStatus: 500, error: 'unsuccessful_status' };
  await storeDelivery(service, id, {
    attempts: [{ number: 1, startedAt: new Date().toISOString(), ...told }],
  });
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
