import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type ClientOptions, RefundApiError, RefundClient, type RefundEvent } from '#shared/client/index.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { untilVerdict } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ settings: untilVerdict });
const connect = async (options: Partial<ClientOptions> = {}) => {
  const { plaintext: apiKey } = service.organization.keys.test;
  return new RefundClient({ baseUrl: await service.url(), apiKey, ...options });
};
let client: RefundClient;
beforeAll(async () => {
  client = await connect();
});

const refundOf = (transactionId: string) => ({ transactionId, amount: 1_000, reason: 'other' }) as const;
describe('the client', () => {
  test('creates a refund, waits for its outcome and reads its events', async () => {
    // Settled only then, so that the answer to the creation comes before, also on a slow machine.
    await service.sandbox.settings({ autoSettleMs: null });
    const asked = { ...refundOf(await newPayment(service)), metadata: { order: [1, null] } };
    const created = await client.refunds.create(asked);
    expect(created).toMatchObject({ ...asked, currency: 'usd', status: 'processing', initiatedBy: 'api' });
    expect(created.externalRefundId).toMatch(/^re_/);
    const include: 'failure'[] = ['failure'];
    await service.sandbox.driveRefund(created.externalRefundId ?? '', { status: 'succeeded' });
    const completed = await client.refunds.get(created.id, { wait: 600, include });
    expect(completed).toMatchObject({ id: created.id, status: 'completed', failure: null });
    const events: RefundEvent[] = await client.refunds.events(created.id);
    expect(events.map(({ type, refundId }) => [type, refundId])).toEqual([
      ['refund.created', created.id],
      ['refund.completed', created.id],
    ]);
  });

  test('filters by time, amount and metadata', async () => {
    const { id, createdAt } = await client.refunds.create({
      ...refundOf(await newPayment(service)),
      amount: 1_234,
      metadata: { 'order no': 'A&B=1', paid: true },
    });
    const filters = { amountMin: 1_234, amountMax: 1_234, createdAfter: createdAt, currency: 'usd' };
    for (const metadata of [undefined, { 'order no': 'A&B=1', paid: 'true' }]) {
      expect(await client.refunds.list({ ...filters, metadata })).toMatchObject([{ id }]);
    }
    expect(await client.refunds.list({ ...filters, metadata: { paid: 'false' } })).toEqual([]);
  });

  test('uses an address with a path', async () => {
    const asked: string[] = [];
    const fetch = async (url: string | URL | Request) => {
      asked.push(String(url));
      return Response.json({ data: [] });
    };
    const { refunds } = new RefundClient({
      baseUrl: 'https://example.com/refunds//',
      apiKey: 'svc_test_1',
      fetch,
    });
    await refunds.list({ status: 'failed' });
    await refunds.get('ref_/../x');
    expect(asked).toEqual([
      'https://example.com/refunds/v1/refunds?status=failed',
      'https://example.com/refunds/v1/refunds/ref_%2F..%2Fx',
    ]);
    for (const id of ['', '.', '..']) await expect(refunds.get(id)).rejects.toThrow('is not an id');
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['a missing key', { apiKey: undefined as never }, 'apiKey:'],
    ['a key with a line break', { apiKey: 'svc_test_1\n' }, 'apiKey:'],
    ['an address without a scheme', { baseUrl: 'refunds.example.com' }, 'baseUrl:'],
    ['a missing address', { baseUrl: undefined as never }, 'baseUrl:'],
  ])('refuses %s at once', (_what, wrong, message) => {
    const options = { baseUrl: 'https://example.com', apiKey: 'svc_test_1', ...wrong };
    expect(() => new RefundClient(options)).toThrow(message);
  });

  /** A POST that follows a redirect becomes a GET, so none is followed. */
  const redirects: RequestListener = ({ url }, response) =>
    url === '/moved'
      ? response.end('{"data": []}')
      : response.writeHead(301, { location: '/moved' }).end('<h1>Moved</h1>');

  test.each<[code: string, status: number | null, options: () => Promise<object>]>([
    ['invalid_api_key', 401, async () => ({ apiKey: `svc_test_${'x'.repeat(32)}` })],
    ['connection_error', null, async () => ({ baseUrl: `http://127.0.0.1:${await freePort()}` })],
    ['unexpected_response', 301, async () => ({ baseUrl: await addressOf(redirects) })],
  ])('throws %s as a typed error', async (code, status, options) => {
    const { refunds } = await connect({ maxRetries: 0, ...(await options()) });
    const error = await refunds.list().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RefundApiError);
    expect(error).toMatchObject({ code, status, message: expect.stringMatching(/\S/) });
    const requestId = status === 401 ? expect.stringMatching(/^req_/) : null;
    expect(error).toMatchObject({ requestId });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/svc_(test|live)_\w{5}/);
  });

  test('names the refund that is on record although its creation was refused', async () => {
    const transactionId = await newPayment(service, { id: 'ch_declined_by_issuer' });
    const error = await client.refunds.create(refundOf(transactionId)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'processor_error', refundId: expect.stringMatching(/^ref_/) });
    const { refundId } = error as RefundApiError;
    expect(await client.refunds.get(refundId ?? '')).toMatchObject({ status: 'failed' });
  });
});

/** The address of a server that answers in this way. */
async function addressOf(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
