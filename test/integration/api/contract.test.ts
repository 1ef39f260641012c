import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { type ApiAnswer, untilVerdict } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ settings: untilVerdict });
beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));
afterEach(() => service.sandbox.clearFaults());

test('an answer that the document does not declare fails the test that gets it', async () => {
  const error = { code: 'validation_error', message: 'limit: must be a number' };
  const declared = { status: 200, body: { data: [], hasMore: false }, headers: {} };
  const others: Record<string, Partial<ApiAnswer>> = {
    'another status': { status: 201 },
    'another type': { body: { ...declared.body, hasMore: 'no' } },
    'a field less': { body: { data: [] } },
    'a field more': { body: { ...declared.body, total: 0 } },
    'a code of another status': { status: 400, body: { error: { ...error, code: 'not_found' } } },
    'a header of another operation': { headers: { location: '/v1/refunds/ref_1' } },
  };
  const getting = ({ status: statusCode, body, headers }: ApiAnswer) => {
    const answered = { statusCode, headers, body: JSON.stringify(body), json: () => body };
    vi.spyOn(service.app, 'inject').mockResolvedValueOnce(answered as never);
    return service.call('GET', '/v1/refunds?limit=1');
  };
  await service.call('GET', '/v1/refunds');
  for (const fine of [declared, { ...declared, status: 400, body: { error } }])
    expect(await getting(fine)).toEqual(fine);
  for (const [what, other] of Object.entries(others))
    await expect(getting({ ...declared, ...other }), what).rejects.toThrow('GET /v1/refunds?limit=1');
});

const valid = { amount: 1000, reason: 'other' };
const payment = async (options: Record<string, unknown> = {}) => await newPayment(service, options);
const create = async (body: object) =>
  await service.call('POST', '/v1/refunds', { body: { ...valid, ...body } });
const check = async (body: object) => await service.call('POST', '/v1/policies/check', { body });

test('a creation is answered with the refund as created', async () => {
  const body = { transactionId: await payment(), metadata: { a: { b: [1] } } };
  const { data } = (await create(body)).body;
  expect(data).toEqual({
    id: expect.stringMatching(/^ref_[a-z0-9]+$/),
    organizationId: service.organization.id,
    externalRefundId: expect.stringMatching(/^re_/),
    transactionId: expect.stringMatching(/^ch_/),
    ...{ amount: 1000, currency: 'usd', reason: 'other', status: 'processing', processor: 'stripe' },
    ...{ metadata: { a: { b: [1] } }, initiatedBy: 'api', updatedAt: data.createdAt },
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
});

test('the processor of a payment is detected, and a currency may be in upper case', async () => {
  const transactionId = await payment({ processor: 'braintree', currency: 'eur' });
  const { body } = await create({ transactionId, currency: 'EUR' });
  expect(body.data).toMatchObject({ currency: 'eur', processor: 'braintree', metadata: null });
});

test.each([
  [
    { transactionId: 'pi_3abc_secret_9xyz' },
    /^transactionId: must be a payment id, not a client secret; send the part before _secret_$/,
  ],
  [{ amount: 10_001 }, /10000/],
])('a creation with %j is refused with what is accepted', async (wrong, message) => {
  const { status, body } = await create({ transactionId: await payment(), ...wrong });
  expect([status, body.error]).toEqual([
    400,
    { code: 'validation_error', message: expect.stringMatching(message) },
  ]);
});

test('a refund that the processor rejects is answered with its reason, and is on record', async () => {
  const transactionId = await payment({ id: 'ch_declined1' });
  const { status, body, headers } = await create({ transactionId });
  const message = expect.stringMatching(/issuer declined the refund/);
  expect([status, body.error]).toEqual([502, { code: 'processor_error', message }]);
  const found = await service.call('GET', String(headers.location));
  expect(found.body.data).toMatchObject({ transactionId, status: 'failed' });
});

test('a refund that fails once its payment can be read is answered as a refusal would be, and repeated', async () => {
  const body = { ...valid, transactionId: await payment(), currency: 'eur' };
  await service.sandbox.fault({ processor: 'stripe', operation: 'transaction.get', kind: 'error-503' });
  for (const isReplayed of [undefined, 'true']) {
    const answer = await service.call('POST', '/v1/refunds', {
      body,
      headers: { 'idempotency-key': 'unread' },
    });
    expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringMatching(/^currency: /)]);
    expect(answer.headers['idempotent-replayed']).toBe(isReplayed);
    const found = await service.call('GET', String(answer.headers.location));
    expect(found.body.data).toMatchObject({ currency: 'eur', status: 'failed' });
  }
});

test('a payment that cannot be refunded is answered with the reason, and nothing is recorded', async () => {
  const transactionId = await payment({ id: 'ch_disputed', status: 'disputed' });
  const { status, body, headers } = await create({ transactionId });
  const message = expect.stringMatching(/^The payment was charged back, so Stripe does not refund it\./);
  expect([status, body.error]).toEqual([502, { code: 'processor_error', message }]);
  expect(headers.location).toBeUndefined();
  expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
  expect(await service.deps.db.paymentName.count({ where: { name: transactionId } })).toBe(0);
});

test('a policy check is answered with the maximum and the deadline', async () => {
  const createdAt = new Date(Date.now() - 86_400_000).toISOString();
  const { body } = await check({ transactionId: await payment({ createdAt }) });
  expect(body.data).toEqual({
    ...{ eligible: true, maxAmount: 10_000, deadline: expect.stringContaining('T') },
    ...{ reason: expect.any(String), conditions: expect.any(Array) },
  });
});

test.each([
  [
    'is unavailable, which can be retried',
    'error-503',
    [503, 'service_unavailable', '5'],
    /^Stripe could not be/,
  ],
  [
    "refuses the account's credentials, which can be replaced",
    'error-403',
    [503, 'service_unavailable', '60'],
    /credentials of the Stripe account do not allow reading/,
  ],
])('a policy check says that the processor %s', async (_what, kind, expected, message) => {
  const transactionId = await payment();
  for (const processor of PROCESSORS) {
    await service.sandbox.fault({ processor, operation: '*', kind, times: null });
  }
  const { status, body, headers } = await check({ transactionId });
  expect([status, body.error.code, headers['retry-after']]).toEqual(expected);
  expect(body.error.message).toMatch(message);
});
