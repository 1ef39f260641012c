import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test, vi } from 'vitest';
import { RefundApiError, type RefundClient } from '../../../shared/client/index.ts';
import { createApiKey } from '../../../shared/organizations/api-keys.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { connectClient } from '../../support/http/connect-client.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
let client: RefundClient;
beforeAll(async () => {
  client = await connectWith();
});

const connectWith = async (options = {}) => await connectClient(service, { maxRetries: 0, ...options });
const valid = { amount: 1_000, reason: 'other' } as const;
const payment = async () => await newPayment(service, { paymentMethod: 'customer_balance' });
const create = async (body: object = {}, options = {}) =>
  await client.refunds.create({ transactionId: await payment(), ...valid, ...body }, options);

const cancelledTwice = async () => {
  const { id } = await create();
  await client.refunds.cancel(id);
  await client.refunds.cancel(id);
};

const twice = async () => {
  const transactionId = await payment();
  await create({ transactionId, amount: 10_000 });
  await create({ transactionId });
};

const reusedKey = async () => {
  const transactionId = await payment();
  for (const amount of [1, 2]) await create({ transactionId, amount }, { idempotencyKey: 'order-1' });
};

const denied = async () => {
  const { id: organizationId, keys } = await service.addOrganization('Strict');
  const policies = [{ name: 'No', priority: 1, finalSale: true, enforce: { api: true, dashboard: true } }];
  await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
  const strict = await connectWith({ apiKey: keys.test.plaintext });
  await strict.refunds.create({ transactionId: await payment(), ...valid });
};

const withoutScope = async () => {
  const { id: organizationId } = service.organization;
  const key = { organizationId, environment: 'test', actor: 'test', scopes: ['policies:read'] } as const;
  const { plaintext: apiKey } = await createApiKey(service.deps, key);
  await (await connectWith({ apiKey })).refunds.list();
};

const faulty = async () => {
  const fault = vi.spyOn(service.deps.connections, 'connect').mockImplementation(() => {
    throw new Error('a fault');
  });
  await create().finally(() => fault.mockRestore());
};

const withoutProcessors = async () => {
  for (const processor of PROCESSORS) {
    await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
  }
  await create({ transactionId: 'unnamed' }).finally(() => service.sandbox.clearFaults());
};

const unreachable = async () => {
  const baseUrl = `http://127.0.0.1:${await freePort()}`;
  await (await connectWith({ baseUrl })).refunds.list();
};

/** Lists refunds at an address where something else answers. */
async function listBehind(answer: RequestListener): Promise<unknown> {
  const proxy = createServer(answer);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const listed = (await connectWith({ baseUrl })).refunds.list();
  return await listed.finally(() => proxy.close());
}

const timesOut: RequestListener = (_request, response) => response.writeHead(504).end('<h1>Timeout</h1>');

/** A POST that follows a redirect becomes a GET, so none is followed. */
const redirects: RequestListener = ({ url }, response) =>
  url === '/moved'
    ? response.end('{"data": []}')
    : response.writeHead(301, { location: '/moved' }).end('<h1>Moved</h1>');

test.each<[code: string, status: number | null, retryable: boolean, ask: () => Promise<unknown>]>([
  ['validation_error', 400, false, () => create({ amount: 0 })],
  ['invalid_api_key', 401, false, async () => (await connectWith({ apiKey: 'svc_test_x' })).refunds.list()],
  ['policy_denied', 403, false, denied],
  ['insufficient_scope', 403, false, withoutScope],
  ['not_found', 404, false, () => client.refunds.get(unknownRefundId)],
  ['not_found', 404, false, () => client.refunds.events(unknownRefundId)],
  ['refund_already_processed', 409, false, twice],
  ['refund_not_cancellable', 409, false, cancelledTwice],
  ['payload_too_large', 413, false, () => create({ metadata: { text: 'x'.repeat(70_000) } })],
  ['idempotency_key_reused', 422, false, reusedKey],
  ['internal_error', 500, true, faulty],
  ['processor_error', 502, false, () => create({ transactionId: 'ch_missing' })],
  ['service_unavailable', 503, true, withoutProcessors],
  ['connection_error', null, true, unreachable],
  ['unexpected_response', 504, true, () => listBehind(timesOut)],
  ['unexpected_response', 301, false, () => listBehind(redirects)],
])('throws %s as a typed error', async (code, status, retryable, ask) => {
  const error = await ask().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RefundApiError);
  expect(error).toMatchObject({ code, status, retryable, message: expect.stringMatching(/\S/) });
  const isOurs = status !== null && code !== 'unexpected_response';
  expect((error as RefundApiError).requestId).toEqual(isOurs ? expect.stringMatching(/^req_/) : null);
  expect(JSON.stringify(error) + String(error)).not.toMatch(/svc_(test|live)_\w{5}/);
});

test('names the refund that is on record although its creation was refused', async () => {
  const transactionId = await newPayment(service, { id: 'ch_declined_by_issuer' });
  const error = await create({ transactionId }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'processor_error', refundId: expect.stringMatching(/^ref_/) });
  const { refundId } = error as RefundApiError;
  expect(await client.refunds.get(refundId ?? '')).toMatchObject({ status: 'failed' });
});
