import { beforeAll, expect, test, vi } from 'vitest';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { ApiAnswer } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
let served: ServedDocument;
beforeAll(async () => {
  served = await readDocument(service);
});

const valid = { amount: 1_000, reason: 'other' };
const wrong = { key: 'svc_test_wrong' };
const payment = async (options = {}) => await newPayment(service, options);
const create = async (transactionId: string, body: object = {}, options: object = {}) =>
  await service.call('POST', '/v1/refunds', { body: { transactionId, ...valid, ...body }, ...options });
const created = async () =>
  (await create(await payment({ paymentMethod: 'customer_balance' }))).body.data.id as string;
const post = async (url: string, body?: unknown, options: object = {}) =>
  await service.call('POST', url, { body, ...options });
const xml = { headers: { 'content-type': 'text/xml' } };
const large = { metadata: 'x'.repeat(70_000) };

/** Makes a request with this key twice, the second time for something else. */
const reused = async (url: string, first: object | undefined, second: string) => {
  const options = { headers: { 'idempotency-key': `reused${url}` } };
  await post(url, first, options);
  return await post(second, first === undefined ? undefined : { ...first, amount: 2 }, options);
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

const silent = async (ask: () => Promise<ApiAnswer>, kind = 'error-503') => {
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
  await post(`/v1/refunds/${id}/cancel`);
  return await post(`/v1/refunds/${id}/cancel`);
};

test.each<[operationId: string, status: number, ask: () => Promise<ApiAnswer>]>([
  ['health', 200, async () => await service.call('GET', '/healthz')],
  ['readiness', 200, async () => await service.call('GET', '/readyz')],
  ['createRefund', 200, async () => await create(await payment(), { metadata: { a: [1, null] } })],
  ['createRefund', 400, async () => await create(await payment(), { amount: 0 })],
  ['createRefund', 401, async () => await create('ch_1', {}, wrong)],
  ['createRefund', 403, denied],
  ['createRefund', 409, twice],
  ['createRefund', 413, async () => await create('ch_1', large)],
  ['createRefund', 415, async () => await post('/v1/refunds', '<a/>', xml)],
  [
    'createRefund',
    422,
    async () => await reused('/v1/refunds', { transactionId: await payment(), ...valid }, '/v1/refunds'),
  ],
  ['createRefund', 500, faulty],
  ['createRefund', 502, async () => await create('ch_missing')],
  ['createRefund', 503, async () => await silent(() => create('anybodys'))],
  ['listRefunds', 200, async () => await service.call('GET', '/v1/refunds')],
  ['listRefunds', 400, async () => await service.call('GET', '/v1/refunds?limit=0')],
  ['listRefunds', 401, async () => await service.call('GET', '/v1/refunds', wrong)],
  ['getRefund', 200, async () => await service.call('GET', `/v1/refunds/${await created()}`)],
  ['getRefund', 401, async () => await service.call('GET', `/v1/refunds/${unknownRefundId}`, wrong)],
  ['getRefund', 404, async () => await service.call('GET', `/v1/refunds/${unknownRefundId}`)],
  ['listRefundEvents', 200, async () => await service.call('GET', `/v1/refunds/${await created()}/events`)],
  [
    'listRefundEvents',
    401,
    async () => await service.call('GET', `/v1/refunds/${unknownRefundId}/events`, wrong),
  ],
  ['listRefundEvents', 404, async () => await service.call('GET', `/v1/refunds/${unknownRefundId}/events`)],
  ['listEvents', 200, async () => await service.call('GET', '/v1/events', { headers: { prefer: 'wait=1' } })],
  ['listEvents', 400, async () => await service.call('GET', '/v1/events?after=evt_1')],
  ['listEvents', 401, async () => await service.call('GET', '/v1/events', wrong)],
  ['cancelRefund', 200, async () => await post(`/v1/refunds/${await created()}/cancel`)],
  [
    'cancelRefund',
    400,
    async () =>
      await post(`/v1/refunds/${unknownRefundId}/cancel`, undefined, { headers: { 'idempotency-key': '' } }),
  ],
  ['cancelRefund', 401, async () => await post(`/v1/refunds/${unknownRefundId}/cancel`, {}, wrong)],
  ['cancelRefund', 404, async () => await post(`/v1/refunds/${unknownRefundId}/cancel`)],
  ['cancelRefund', 409, cancelledTwice],
  ['cancelRefund', 413, async () => await post(`/v1/refunds/${unknownRefundId}/cancel`, large)],
  [
    'cancelRefund',
    422,
    async () =>
      await reused(
        `/v1/refunds/${await created()}/cancel`,
        undefined,
        `/v1/refunds/${await created()}/cancel`,
      ),
  ],
  ['checkPolicy', 200, async () => await post('/v1/policies/check', { transactionId: await payment() })],
  ['checkPolicy', 400, async () => await post('/v1/policies/check', {})],
  ['checkPolicy', 401, async () => await post('/v1/policies/check', {}, wrong)],
  ['checkPolicy', 413, async () => await post('/v1/policies/check', large)],
  ['checkPolicy', 415, async () => await post('/v1/policies/check', '<a/>', xml)],
  [
    'checkPolicy',
    502,
    async () => await silent(() => post('/v1/policies/check', { transactionId: 'ch_silent' }), 'error-403'),
  ],
  [
    'checkPolicy',
    503,
    async () => await silent(() => post('/v1/policies/check', { transactionId: 'anybodys' })),
  ],
])('what the document declares is what the service answers: %s %d', async (operationId, status, ask) => {
  const answer = await ask();
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  const found = served.operations.find(({ operation }) => operation.operationId === operationId);
  const declared = found?.operation.responses[status];
  expect(declared, `${operationId} declares ${status}`).toBeDefined();
  const schema = served.schemaOf(declared.content['application/json'].schema);
  expect(schema.parse(answer.body)).toEqual(answer.body);
  if (status >= 400) expect(declared.description).toContain(`\`${answer.body.error.code}\``);
  for (const name of ['X-Request-Id', 'Retry-After', 'WWW-Authenticate', 'Preference-Applied']) {
    if (name.toLowerCase() in answer.headers) expect(declared.headers).toHaveProperty(name);
  }
  expect(declared.headers).toHaveProperty('X-Request-Id');
});
