import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { RefundApiError, type RefundClient } from '#shared/client/index.ts';
import { connectClient } from '../../support/http/connect-client.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
let client: RefundClient;
beforeAll(async () => {
  client = await connectWith();
});

const connectWith = async (options = {}) => await connectClient(service, { maxRetries: 0, ...options });
const create = async (body: object) =>
  await client.refunds.create({ transactionId: 'ch_1', amount: 1_000, reason: 'other', ...body });

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
