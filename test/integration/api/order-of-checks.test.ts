import { beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '../../../shared/organizations/api-keys.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { ApiAnswer } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ settings: { PROCESSOR_TIMEOUT_MS: 4_000 } });
beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

const valid = { amount: 1000, reason: 'other' };

const payment = async (options: Record<string, unknown> = {}) => await newPayment(service, options);

async function create(body: object, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  return await service.call('POST', '/v1/refunds', { body, headers });
}

async function created(options: Record<string, unknown> = {}): Promise<string> {
  const { body } = await create({ transactionId: await payment(options), ...valid });
  return body.data.id;
}

const revocable = async () => await created({ paymentMethod: 'customer_balance' });
const cancel = async (id: string, options = {}) =>
  await service.call('POST', `/v1/refunds/${id}/cancel`, options);

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
    ['the key before the size', 'POST', '/v1/refunds', () => json, 'x'.repeat(70_000), 401],
    ['the key before the body', 'POST', '/v1/refunds', () => json, badJson, 401],
    // That the rate limit is checked between these two is in scopes.test.ts.
    ['the key before the scope', 'POST', '/v1/refunds', () => ({}), undefined, 401],
    [
      'the scope before the media type',
      'POST',
      '/v1/refunds',
      () => ({ ...readingKey(), ...xml }),
      '<a/>',
      403,
    ],
    [
      'the scope before the size',
      'POST',
      '/v1/refunds',
      () => ({ ...readingKey(), ...json }),
      'x'.repeat(70_000),
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

  test('is the body before the idempotency key, and an invalid body binds nothing', async () => {
    const headers = { 'idempotency-key': 'order-of-checks' };
    const transactionId = await payment();
    const first = await create({ transactionId, amount: 1000, reason: 'nonsense' }, headers);
    expect(first.status).toBe(400);
    expect((await create({ transactionId, ...valid }, headers)).status).toBe(200);
    const other = await create({ transactionId, ...valid, amount: 1001 }, headers);
    expect(other.body.error.code).toBe('idempotency_key_reused');
  });

  test('is the idempotency key before the refund', async () => {
    const headers = { 'idempotency-key': 'cancel-order' };
    expect((await cancel(await revocable(), { headers })).status).toBe(200);
    const reused = await cancel(unknownRefundId, { headers });
    expect(reused.body.error.code).toBe('idempotency_key_reused');
  });
});
