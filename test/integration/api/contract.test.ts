import { beforeAll, describe, expect, test } from 'vitest';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { ApiAnswer } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService({ settings: { PROCESSOR_TIMEOUT_MS: 4_000 } });
beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

/** One row of the public contract: what a request to an endpoint is answered. */
interface Row {
  endpoint: string;
  condition: string;
  status: number;
  code: string | null;
  ask: () => Promise<ApiAnswer>;
  expected?: (answer: ApiAnswer) => unknown;
}

const valid = { amount: 1000, reason: 'other' };

/** A payment made for one row. */
const payment = async (options: Record<string, unknown> = {}) => await newPayment(service, options);

async function create(body: object, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  return await service.call('POST', '/v1/refunds', { body, headers });
}

async function created(options: Record<string, unknown> = {}): Promise<string> {
  const { body } = await create({ transactionId: await payment(options), ...valid });
  return body.data.id;
}

/** A refund that has come to an end at the processor, and here. */
async function ended(status: 'succeeded' | 'failed'): Promise<string> {
  const id = await created();
  const { body } = await service.call('GET', `/v1/refunds/${id}`);
  await service.sandbox.driveRefund(body.data.externalRefundId, { status });
  await waitFor('the refund to end', async () => {
    const { body: latest } = await service.call('GET', `/v1/refunds/${id}`);
    return latest.data.status !== 'processing';
  });
  return id;
}

async function cancelled(): Promise<string> {
  const id = await created({ paymentMethod: 'customer_balance' });
  await service.call('POST', `/v1/refunds/${id}/cancel`);
  return id;
}

const cancel = async (id: string, options = {}) =>
  await service.call('POST', `/v1/refunds/${id}/cancel`, options);
const list = async (query: string) => await service.call('GET', `/v1/refunds?${query}`);
const check = async (body: object) => await service.call('POST', '/v1/policies/check', { body });
/** Asks about a payment that was never read, while every call to its processor is struck. */
const checkWhile = async (kind: string) => {
  const transactionId = await payment();
  await service.sandbox.fault({ processor: 'stripe', operation: '*', kind, times: null });
  return await check({ transactionId }).finally(() => service.sandbox.clearFaults());
};
const wrongKey = `svc_test_${'x'.repeat(32)}`;
const day = 24 * 60 * 60 * 1000;
const daysAgo = (days: number) => new Date(Date.now() - days * day).toISOString();

/** The rows of a body rule for creations: each breaks one rule, and a valid body is next to it. */
const invalidBodies: [string, object][] = [
  ['transactionId is missing', { ...valid }],
  ['transactionId is empty', { ...valid, transactionId: '' }],
  ['transactionId is no string', { ...valid, transactionId: 5 }],
  ['amount is missing', { transactionId: 'ch_abc', reason: 'other' }],
  ['amount is zero', { ...valid, transactionId: 'ch_abc', amount: 0 }],
  ['amount is negative', { ...valid, transactionId: 'ch_abc', amount: -1 }],
  ['amount is a fraction', { ...valid, transactionId: 'ch_abc', amount: 10.5 }],
  ['amount is a text', { ...valid, transactionId: 'ch_abc', amount: '1000' }],
  ['amount is not exact any more', { ...valid, transactionId: 'ch_abc', amount: 2 ** 53 }],
  ['reason is missing', { transactionId: 'ch_abc', amount: 1000 }],
  ['reason is unknown', { ...valid, transactionId: 'ch_abc', reason: 'because' }],
  ['currency has two letters', { ...valid, transactionId: 'ch_abc', currency: 'us' }],
  ['currency has four letters', { ...valid, transactionId: 'ch_abc', currency: 'usdx' }],
  ['currency is not in ISO 4217', { ...valid, transactionId: 'ch_abc', currency: 'zzz' }],
  ['processor is unknown', { ...valid, transactionId: 'ch_abc', processor: 'paypal' }],
  ['metadata is a list', { ...valid, transactionId: 'ch_abc', metadata: [] }],
  ['metadata is a text', { ...valid, transactionId: 'ch_abc', metadata: 'x' }],
];

/** Payments of which Stripe refunds nothing, and why. */
const unrefundable: [status: string, reason: RegExp][] = [
  ['failed', /^The payment failed, so there is nothing to refund\.$/],
  ['uncaptured', /^The payment has not been captured, so there is nothing to refund\./],
  ['disputed', /^The payment was charged back, so Stripe does not refund it\./],
];

const rows: Row[] = [
  {
    endpoint: 'create',
    condition: 'a valid body answers the refund as created',
    status: 200,
    code: null,
    ask: async () => await create({ transactionId: await payment(), ...valid, metadata: { a: { b: [1] } } }),
    expected: ({ body: { data } }) => {
      expect(data).toEqual({
        id: expect.stringMatching(/^ref_[a-z0-9]+$/),
        organizationId: service.organization.id,
        externalRefundId: expect.stringMatching(/^re_/),
        transactionId: expect.stringMatching(/^ch_/),
        amount: 1000,
        currency: 'usd',
        reason: 'other',
        status: 'processing',
        processor: 'stripe',
        metadata: { a: { b: [1] } },
        initiatedBy: 'api',
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updatedAt: data.createdAt,
      });
    },
  },
  {
    endpoint: 'create',
    condition: 'metadata is null when there is none',
    status: 200,
    code: null,
    ask: async () => await create({ transactionId: await payment(), ...valid }),
    expected: ({ body }) => expect(body.data.metadata).toBeNull(),
  },
  {
    endpoint: 'create',
    condition: 'an upper-case currency is answered in lower case',
    status: 200,
    code: null,
    ask: async () =>
      await create({ transactionId: await payment({ currency: 'eur' }), ...valid, currency: 'EUR' }),
    expected: ({ body }) => expect(body.data.currency).toBe('eur'),
  },
  {
    endpoint: 'create',
    condition: 'without processor it is detected from the transaction',
    status: 200,
    code: null,
    ask: async () => await create({ transactionId: await payment({ processor: 'braintree' }), ...valid }),
    expected: ({ body }) => expect(body.data.processor).toBe('braintree'),
  },
  ...invalidBodies.map(([condition, body]): Row => {
    return {
      endpoint: 'create',
      condition,
      status: 400,
      code: 'validation_error',
      ask: async () => await create(body),
    };
  }),
  ...(
    [
      ['create', async () => await create({ transactionId: 'pi_3abc_secret_9xyz', ...valid })],
      ['check', async () => await check({ transactionId: 'pi_3abc_secret_9xyz' })],
    ] as const
  ).map(([endpoint, ask]): Row => {
    return {
      endpoint,
      condition: 'transactionId is a client secret, which is not repeated',
      status: 400,
      code: 'validation_error',
      ask,
      expected: ({ body }) =>
        expect(body.error.message).toMatch(
          /transactionId: this is a client secret, not a payment id; send the part before _secret_$/,
        ),
    };
  }),
  {
    endpoint: 'create',
    condition: "the currency is not the transaction's, also when it is the default",
    status: 400,
    code: 'validation_error',
    ask: async () => await create({ transactionId: await payment({ currency: 'eur' }), ...valid }),
    expected: ({ body }) => expect(body.error.message).toContain('"eur"'),
  },
  {
    endpoint: 'create',
    condition: 'more is asked than is left, and the message names what is left',
    status: 400,
    code: 'validation_error',
    ask: async () => await create({ transactionId: await payment(), ...valid, amount: 10_001 }),
    expected: ({ body }) => expect(body.error.message).toContain('10000'),
  },
  {
    endpoint: 'create',
    condition: 'the key is missing',
    status: 401,
    code: 'invalid_api_key',
    ask: async () =>
      await service.app.inject({ method: 'POST', url: '/v1/refunds', payload: {} }).then(toAnswer),
  },
  {
    endpoint: 'create',
    condition: 'the key is wrong',
    status: 401,
    code: 'invalid_api_key',
    ask: async () => await service.call('POST', '/v1/refunds', { body: {}, key: wrongKey }),
  },
  {
    endpoint: 'create',
    condition: 'the transaction was refunded in full here',
    status: 409,
    code: 'refund_already_processed',
    ask: async () => {
      const transactionId = await payment();
      await create({ transactionId, ...valid, amount: 10_000 });
      return await create({ transactionId, ...valid });
    },
  },
  {
    endpoint: 'create',
    condition: 'the processor rejects it, and the message carries its reason',
    status: 502,
    code: 'processor_error',
    ask: async () => await create({ transactionId: await payment({ id: 'ch_declined1' }), ...valid }),
    expected: ({ body }) => expect(body.error.message).toMatch(/issuer declined the refund/),
  },
  ...unrefundable.map(
    ([status, reason]): Row => ({
      endpoint: 'create',
      condition: `the payment is ${status} and cannot be refunded, and nothing is recorded`,
      status: 502,
      code: 'processor_error',
      ask: async () =>
        await create({ transactionId: await payment({ id: `ch_create${status}`, status }), ...valid }),
      expected: async ({ body }) => {
        expect(body.error.message).toMatch(reason);
        const where = { transactionId: `ch_create${status}` };
        expect(await service.deps.db.refund.count({ where })).toBe(0);
        expect(await service.deps.db.payment.count({ where })).toBe(0);
      },
    }),
  ),
  {
    endpoint: 'create',
    condition: 'the transaction does not exist at the named processor',
    status: 502,
    code: 'processor_error',
    ask: async () => await create({ transactionId: 'ch_missing1', ...valid }),
    expected: ({ body }) => expect(body.error.message).toContain('ch_missing1'),
  },
  {
    endpoint: 'create',
    condition: 'the transaction does not exist at any processor',
    status: 502,
    code: 'processor_error',
    ask: async () => await create({ transactionId: 'missing', ...valid }),
  },
  {
    endpoint: 'get',
    condition: 'a refund of the organization',
    status: 200,
    code: null,
    ask: async () => await service.call('GET', `/v1/refunds/${await created()}`),
    expected: ({ body }) => expect(body.data.status).toBe('processing'),
  },
  {
    endpoint: 'get',
    condition: 'the key is wrong',
    status: 401,
    code: 'invalid_api_key',
    ask: async () => await service.call('GET', `/v1/refunds/${unknownRefundId}`, { key: wrongKey }),
  },
  {
    endpoint: 'get',
    condition: 'no such refund',
    status: 404,
    code: 'not_found',
    ask: async () => await service.call('GET', `/v1/refunds/${unknownRefundId}`),
  },
  {
    endpoint: 'list',
    condition: 'newest first, at most limit',
    status: 200,
    code: null,
    ask: async () => {
      await created();
      await created();
      return await list('limit=2');
    },
    expected: ({ body }) => {
      expect(body.data).toHaveLength(2);
      expect(body.data[0].createdAt >= body.data[1].createdAt).toBe(true);
    },
  },
  {
    endpoint: 'list',
    condition: 'filters combine',
    status: 200,
    code: null,
    ask: async () => {
      await create({ transactionId: await payment({ processor: 'braintree' }), ...valid });
      await created();
      return await list('status=processing&processor=braintree&limit=100');
    },
    expected: ({ body }) => {
      const seen = new Set(
        body.data.map((refund: { processor: string; status: string }) => refund.processor + refund.status),
      );
      expect([...seen]).toEqual(['braintreeprocessing']);
    },
  },
  {
    endpoint: 'list',
    condition: 'an offset past the end is an empty page',
    status: 200,
    code: null,
    ask: async () => await list('offset=100000'),
    expected: ({ body }) => expect(body).toEqual({ data: [] }),
  },
  ...[
    'limit=0',
    'limit=101',
    'limit=abc',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'offset=-1',
    'offset=1e3',
    'status=done',
    'processor=',
  ].map(
    (query): Row => ({
      endpoint: 'list',
      condition: `${query} is out of bounds`,
      status: 400,
      code: 'validation_error',
      ask: async () => await list(query),
    }),
  ),
  {
    endpoint: 'list',
    condition: 'the key is wrong',
    status: 401,
    code: 'invalid_api_key',
    ask: async () => await service.call('GET', '/v1/refunds', { key: wrongKey }),
  },
  {
    endpoint: 'cancel',
    condition: 'a processing refund that the processor gives back, without a body',
    status: 200,
    code: null,
    ask: async () => await cancel(await created({ paymentMethod: 'customer_balance' })),
    expected: ({ body }) => {
      expect(body.data.status).toBe('cancelled');
      expect(body.data.updatedAt > body.data.createdAt).toBe(true);
    },
  },
  {
    endpoint: 'cancel',
    condition: 'the same with an empty JSON object',
    status: 200,
    code: null,
    ask: async () => await cancel(await created({ paymentMethod: 'customer_balance' }), { body: {} }),
  },
  {
    endpoint: 'cancel',
    condition: 'the same with a body that is not empty: it is ignored',
    status: 200,
    code: null,
    ask: async () =>
      await cancel(await created({ paymentMethod: 'customer_balance' }), { body: { force: true } }),
  },
  {
    endpoint: 'cancel',
    condition: 'the key is wrong',
    status: 401,
    code: 'invalid_api_key',
    ask: async () => await cancel(unknownRefundId, { key: wrongKey }),
  },
  {
    endpoint: 'cancel',
    condition: 'no such refund',
    status: 404,
    code: 'not_found',
    ask: async () => await cancel(unknownRefundId),
  },
  ...[
    ['completed', async () => await ended('succeeded')],
    ['failed', async () => await ended('failed')],
    ['cancelled', cancelled],
  ].map(([status, make]): Row => {
    const makeRefund = make as () => Promise<string>;
    return {
      endpoint: 'cancel',
      condition: `the refund is ${status}, which the message names`,
      status: 409,
      code: 'refund_not_cancellable',
      ask: async () => await cancel(await makeRefund()),
      expected: ({ body }) => expect(body.error.message).toContain(status),
    };
  }),
  {
    endpoint: 'cancel',
    condition: 'the processor does not give it back, and it stays processing',
    status: 409,
    code: 'refund_not_cancellable',
    ask: async () => await cancel(await created()),
    expected: ({ body }) => expect(body.error.message).toContain('processing'),
  },
  {
    endpoint: 'check',
    condition: 'eligible: maxAmount and deadline are set',
    status: 200,
    code: null,
    ask: async () => await check({ transactionId: await payment({ createdAt: daysAgo(1) }) }),
    expected: ({ body: { data } }) => {
      expect(data).toMatchObject({
        eligible: true,
        maxAmount: 10_000,
        deadline: expect.stringContaining('T'),
      });
      expect(Object.keys(data).toSorted()).toEqual([
        'conditions',
        'deadline',
        'eligible',
        'maxAmount',
        'reason',
      ]);
    },
  },
  {
    endpoint: 'check',
    condition: 'outside of the window: maxAmount and deadline are null',
    status: 200,
    code: null,
    ask: async () => await check({ transactionId: await payment({ createdAt: daysAgo(31) }) }),
    expected: ({ body: { data } }) =>
      expect(data).toMatchObject({ eligible: false, maxAmount: null, deadline: null }),
  },
  {
    endpoint: 'check',
    condition: 'amount too large: maxAmount is what remains, and the conditions tell the arithmetic',
    status: 200,
    code: null,
    ask: async () => {
      const transactionId = await payment();
      await create({ transactionId, ...valid, amount: 4_000 });
      return await check({ transactionId, amount: 6_001 });
    },
    expected: ({ body: { data } }) => {
      expect(data).toMatchObject({ eligible: false, maxAmount: 6_000, deadline: expect.any(String) });
      const conditions = data.conditions.join('\n');
      for (const figure of ['100.00', '40.00', '60.00']) expect(conditions).toContain(figure);
    },
  },
  {
    endpoint: 'check',
    condition: 'an unknown transaction is not eligible',
    status: 200,
    code: null,
    ask: async () => await check({ transactionId: 'ch_missing2' }),
    expected: ({ body: { data } }) =>
      expect(data).toMatchObject({ eligible: false, maxAmount: null, deadline: null, conditions: [] }),
  },
  ...unrefundable.map(
    ([status, reason]): Row => ({
      endpoint: 'check',
      condition: `a ${status} payment is not eligible, and the reason says why`,
      status: 200,
      code: null,
      ask: async () => await check({ transactionId: await payment({ id: `pi_check${status}`, status }) }),
      expected: async ({ body: { data } }) => {
        expect(data).toEqual({
          ...{ eligible: false, maxAmount: null, deadline: null, conditions: [] },
          reason: expect.stringMatching(reason),
        });
        const where = { transactionId: `pi_check${status}` };
        expect(await service.deps.db.payment.count({ where })).toBe(0);
      },
    }),
  ),
  {
    endpoint: 'check',
    condition: 'the processor cannot be asked, and the answer says when to repeat',
    status: 503,
    code: 'service_unavailable',
    ask: async () => await checkWhile('error-503'),
    expected: ({ body, headers }) => {
      expect(headers['retry-after']).toBe('5');
      expect(body.error.message).toMatch(/stripe cannot be reached .* Retry/);
    },
  },
  {
    endpoint: 'check',
    condition: "the processor refuses the account's credentials, and repeating is no use",
    status: 502,
    code: 'processor_error',
    ask: async () => await checkWhile('error-403'),
    expected: ({ body, headers }) => {
      expect(headers['retry-after']).toBeUndefined();
      expect(body.error.message).toMatch(/stripe refuses the credentials .* set new ones/);
    },
  },
  ...[
    {},
    { transactionId: '' },
    { transactionId: 'ch_abc', amount: 0 },
    { transactionId: 'ch_abc', amount: 1.5 },
  ].map(
    (body): Row => ({
      endpoint: 'check',
      condition: `${JSON.stringify(body)} violates the rules`,
      status: 400,
      code: 'validation_error',
      ask: async () => await check(body),
    }),
  ),
  {
    endpoint: 'check',
    condition: 'the key is wrong',
    status: 401,
    code: 'invalid_api_key',
    ask: async () => await service.call('POST', '/v1/policies/check', { body: {}, key: wrongKey }),
  },
  {
    endpoint: 'any',
    condition: 'no such route',
    status: 404,
    code: 'not_found',
    ask: async () => await service.call('GET', '/v1/nothing'),
  },
  {
    endpoint: 'any',
    condition: 'a method that the route does not take',
    status: 405,
    code: 'method_not_allowed',
    ask: async () => await service.app.inject({ method: 'DELETE', url: '/v1/refunds/ref_1' }).then(toAnswer),
    expected: ({ headers }) => expect(headers.allow).toContain('GET'),
  },
  {
    endpoint: 'any',
    condition: 'a body that is larger than 64 KiB',
    status: 413,
    code: 'payload_too_large',
    ask: async () => await create({ metadata: { text: 'x'.repeat(65 * 1024) } }),
  },
  {
    endpoint: 'any',
    condition: 'a body that is not JSON',
    status: 415,
    code: 'unsupported_media_type',
    ask: async () =>
      await service.call('POST', '/v1/refunds', {
        body: 'a=b',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
  },
];

describe(`the ${rows.length} rows of the public contract`, () => {
  test.each(rows)(
    '$endpoint answers $status $code when: $condition',
    async ({ ask, status, code, expected }) => {
      const answer = await ask();
      expect({ status: answer.status, code: answer.body?.error?.code ?? null }).toEqual({ status, code });
      if (code !== null) {
        expect(answer.body).toEqual({ error: { code, message: expect.stringMatching(/\S/) } });
      }
      await expected?.(answer);
    },
  );
});

/** Requests in which everything is wrong from some check on: the first wrong thing is what is answered. */
describe('the order of checks', () => {
  const badJson = '{"amount":';
  const json = { 'content-type': 'application/json' };
  const good = () => `Bearer ${service.organization.keys.test.plaintext}`;

  test.each([
    ['the route comes before the key', 'GET', '/v1/nowhere', {}, undefined, 404],
    ['the method comes before the key', 'PUT', '/v1/refunds', {}, undefined, 405],
    [
      'the key comes before the media type',
      'POST',
      '/v1/refunds',
      { 'content-type': 'text/xml' },
      '<a/>',
      401,
    ],
    ['the key comes before the size', 'POST', '/v1/refunds', json, 'x'.repeat(70_000), 401],
    ['the key comes before the body', 'POST', '/v1/refunds', json, badJson, 401],
  ] as const)('%s', async (_promise, method, url, headers, payload, status) => {
    const answer = await service.app.inject({
      method,
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    });
    expect(answer.statusCode).toBe(status);
  });

  test('the media type and the size come before the body', async () => {
    const xml = await service.app.inject({
      method: 'POST',
      url: '/v1/refunds',
      headers: { authorization: good(), 'content-type': 'text/xml' },
      payload: badJson,
    });
    expect(xml.statusCode).toBe(415);
    const large = await service.app.inject({
      method: 'POST',
      url: '/v1/refunds',
      headers: { authorization: good(), ...json },
      payload: badJson + ' '.repeat(70_000),
    });
    expect(large.statusCode).toBe(413);
  });

  test('the body comes before the idempotency key, and binds nothing', async () => {
    const headers = { 'idempotency-key': 'order-of-checks' };
    const transactionId = await payment();
    const first = await create({ transactionId, amount: 1000, reason: 'nonsense' }, headers);
    expect(first.status).toBe(400);
    const second = await create({ transactionId, ...valid }, headers);
    expect(second.status).toBe(200);
    const other = await create({ transactionId, ...valid, amount: 1001 }, headers);
    expect(other.body.error.code).toBe('idempotency_key_reused');
  });

  test('the idempotency key comes before the refund', async () => {
    const headers = { 'idempotency-key': 'cancel-order' };
    const id = await created({ paymentMethod: 'customer_balance' });
    expect((await cancel(id, { headers })).status).toBe(200);
    const reused = await cancel(unknownRefundId, { headers });
    expect(reused.body.error.code).toBe('idempotency_key_reused');
  });

  test('the refund comes before its status', async () => {
    const answer = await cancel(unknownRefundId, { key: service.organization.keys.live.plaintext });
    expect(answer.status).toBe(404);
  });
});

function toAnswer(response: {
  statusCode: number;
  json: () => unknown;
  headers: ApiAnswer['headers'];
}): ApiAnswer {
  return { status: response.statusCode, body: response.json(), headers: response.headers };
}
