import { beforeAll, expect, test } from 'vitest';
import type { ErrorCode } from '#shared/platform/errors.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { expectDeclared, readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import type { ApiAnswer } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ settings: { PROCESSOR_TIMEOUT_MS: 4_000 } });
let served: ServedDocument;
beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: null });
  served = await readDocument(service);
});

/** Sends a request, and holds its answer against the OpenAPI document. */
async function call(...request: Parameters<typeof service.call>): Promise<ApiAnswer> {
  const [method, path] = request;
  const answer = await service.call(...request);
  expectDeclared(served, { method, path }, answer);
  return answer;
}

const valid = { amount: 1000, reason: 'other' };

const payment = async (options: Record<string, unknown> = {}) => await newPayment(service, options);

async function create(body: object, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  return await call('POST', '/v1/refunds', { body, headers });
}

async function created(options: Record<string, unknown> = {}): Promise<string> {
  const { body } = await create({ transactionId: await payment(options), ...valid });
  return body.data.id;
}

/** A refund that has ended at the processor and here. */
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
  const id = await revocable();
  await cancel(id);
  return id;
}

const revocable = async () => await created({ paymentMethod: 'customer_balance' });
const cancel = async (id: string, options = {}) => await call('POST', `/v1/refunds/${id}/cancel`, options);
const get = async (path: string) => await call('GET', `/v1/refunds/${path}`);
const check = async (body: object) => await call('POST', '/v1/policies/check', { body });
/** Asks while every call to the processors fails. */
const whileFailing = async (kind: string, ask: () => Promise<ApiAnswer>) => {
  for (const processor of PROCESSORS) {
    await service.sandbox.fault({ processor, operation: '*', kind, times: null });
  }
  return await ask().finally(() => service.sandbox.clearFaults());
};
/** Checks a payment that was never read while every call to its processor fails. */
const checkWhile = async (kind: string) => {
  const transactionId = await payment();
  return await whileFailing(kind, () => check({ transactionId }));
};
const day = 24 * 60 * 60 * 1000;
const daysAgo = (days: number) => new Date(Date.now() - days * day).toISOString();

/** One row of the public contract. The outcome is the status and, for an error, its code. */
type Row = [
  endpoint: string,
  condition: string,
  outcome: `${number}` | `${number} ${ErrorCode}`,
  ask: () => Promise<ApiAnswer>,
  expected?: (answer: ApiAnswer) => unknown,
];

const messageMatches =
  (pattern: RegExp) =>
  ({ body }: ApiAnswer) =>
    expect(body.error.message).toMatch(pattern);

const rows: Row[] = [
  [
    'create',
    'the body is valid: the refund as created',
    '200',
    async () => await create({ transactionId: await payment(), ...valid, metadata: { a: { b: [1] } } }),
    ({ body: { data } }) =>
      expect(data).toEqual({
        id: expect.stringMatching(/^ref_[a-z0-9]+$/),
        organizationId: service.organization.id,
        externalRefundId: expect.stringMatching(/^re_/),
        transactionId: expect.stringMatching(/^ch_/),
        ...{ amount: 1000, currency: 'usd', reason: 'other', status: 'processing', processor: 'stripe' },
        ...{ metadata: { a: { b: [1] } }, initiatedBy: 'api', updatedAt: data.createdAt },
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      }),
  ],
  [
    'create',
    'the body has the least, and the currency in upper case: the processor is detected',
    '200',
    async () => {
      const transactionId = await payment({ processor: 'braintree', currency: 'eur' });
      return await create({ transactionId, ...valid, currency: 'EUR' });
    },
    ({ body }) =>
      expect(body.data).toMatchObject({ currency: 'eur', processor: 'braintree', metadata: null }),
  ],
  [
    'create',
    'transactionId is a client secret, which is not repeated',
    '400 validation_error',
    async () => await create({ transactionId: 'pi_3abc_secret_9xyz', ...valid }),
    messageMatches(
      /^transactionId: must be a payment id, not a client secret; send the part before _secret_$/,
    ),
  ],
  [
    'create',
    'the amount exceeds what is left, which the message names',
    '400 validation_error',
    async () => await create({ transactionId: await payment(), ...valid, amount: 10_001 }),
    messageMatches(/10000/),
  ],
  [
    'create',
    'the payment was refunded in full',
    '409 refund_already_processed',
    async () => {
      const transactionId = await payment();
      await create({ transactionId, ...valid, amount: 10_000 });
      return await create({ transactionId, ...valid });
    },
  ],
  [
    'create',
    'the processor rejects the refund, with its reason',
    '502 processor_error',
    async () => await create({ transactionId: await payment({ id: 'ch_declined1' }), ...valid }),
    async (answer) => {
      messageMatches(/issuer declined the refund/)(answer);
      const { body } = await service.call('GET', String(answer.headers.location));
      expect(body.data).toMatchObject({ transactionId: 'ch_declined1', status: 'failed' });
    },
  ],
  [
    'create',
    'the payment cannot be refunded, with the reason, and nothing is recorded',
    '502 processor_error',
    async () =>
      await create({ transactionId: await payment({ id: 'ch_disputed', status: 'disputed' }), ...valid }),
    async (answer) => {
      messageMatches(/^The payment was charged back, so Stripe does not refund it\./)(answer);
      expect(answer.headers.location).toBeUndefined();
      expect(await service.deps.db.refund.count({ where: { transactionId: 'ch_disputed' } })).toBe(0);
      expect(await service.deps.db.paymentName.count({ where: { name: 'ch_disputed' } })).toBe(0);
    },
  ],
  [
    'create',
    'the payment is unknown to every processor',
    '502 processor_error',
    async () => await create({ transactionId: 'missing', ...valid }),
  ],
  [
    'get',
    'more is included',
    '200',
    async () => await get(`${await created()}?include=failure,cancellable,arrival,policy`),
  ],
  [
    'events',
    'there are some',
    '200',
    async () => await call('GET', '/v1/events', { headers: { prefer: 'wait=1' } }),
    ({ headers }) => expect(headers['preference-applied']).toBe('wait=1'),
  ],
  [
    'deliveries',
    'there are some',
    '200',
    async () => {
      const { id } = await newEndpoint(service);
      const attempt = { number: 1, startedAt: new Date().toISOString(), responseStatus: 500 };
      await storeDelivery(service, id, { attempts: [{ ...attempt, error: 'unsuccessful_status' }] });
      return await call('GET', `/v1/webhook-endpoints/${id}/deliveries`);
    },
    ({ body }) => expect(body.data[0].attempts).toHaveLength(1),
  ],
  [
    'cancel',
    'the processor gives the refund back',
    '200',
    async () => await cancel(await revocable()),
    ({ body: { data } }) => {
      expect(data.status).toBe('cancelled');
      expect(data.updatedAt > data.createdAt).toBe(true);
    },
  ],
  ...(
    [
      ['completed', async () => await ended('succeeded')],
      ['failed', async () => await ended('failed')],
      ['cancelled', cancelled],
      ['processing', created],
    ] as const
  ).map(
    ([status, make]): Row => [
      'cancel',
      `the refund is ${status} and cannot be cancelled, with its status in the message`,
      '409 refund_not_cancellable',
      async () => await cancel(await make()),
      messageMatches(new RegExp(status)),
    ],
  ),
  [
    'check',
    'the payment is eligible: maxAmount and deadline are set',
    '200',
    async () => await check({ transactionId: await payment({ createdAt: daysAgo(1) }) }),
    ({ body: { data } }) =>
      expect(data).toEqual({
        ...{ eligible: true, maxAmount: 10_000, deadline: expect.stringContaining('T') },
        ...{ reason: expect.any(String), conditions: expect.any(Array) },
      }),
  ],
  [
    'check',
    'the window has closed: maxAmount and deadline are null',
    '200',
    async () => await check({ transactionId: await payment({ createdAt: daysAgo(31) }) }),
    ({ body: { data } }) => expect(data).toMatchObject({ eligible: false, maxAmount: null, deadline: null }),
  ],
  [
    'check',
    'the amount is too large: maxAmount is what is left, and the conditions name the amounts',
    '200',
    async () => {
      const transactionId = await payment();
      await create({ transactionId, ...valid, amount: 4_000 });
      return await check({ transactionId, amount: 6_001 });
    },
    ({ body: { data } }) => {
      expect(data).toMatchObject({ eligible: false, maxAmount: 6_000, deadline: expect.any(String) });
      const conditions = data.conditions.join('\n');
      for (const figure of ['100.00', '40.00', '60.00']) expect(conditions).toContain(figure);
    },
  ],
  [
    'check',
    'the payment is unknown: not eligible',
    '200',
    async () => await check({ transactionId: 'ch_missing2' }),
    ({ body: { data } }) =>
      expect(data).toMatchObject({ eligible: false, maxAmount: null, deadline: null, conditions: [] }),
  ],
  [
    'check',
    'the processor is unavailable, with a time to retry',
    '503 service_unavailable',
    async () => await checkWhile('error-503'),
    (answer) => {
      expect(answer.headers['retry-after']).toBe('5');
      messageMatches(/^stripe could not be/)(answer);
    },
  ],
  [
    'check',
    "the processor refuses the account's credentials, which is not retryable",
    '502 processor_error',
    async () => await checkWhile('error-403'),
    (answer) => {
      expect(answer.headers['retry-after']).toBeUndefined();
      messageMatches(/credentials/)(answer);
    },
  ],
];

const titled = rows.map(([endpoint, condition, outcome, ask, expected]) => {
  return { title: `${endpoint} returns ${outcome} when ${condition}`, outcome, ask, expected };
});

test.each(titled)('$title', async ({ outcome, ask, expected }) => {
  const answer = await ask();
  const { error } = answer.body;
  expect([answer.status, error?.code].filter(Boolean).join(' ')).toBe(outcome);
  if (error !== undefined) {
    expect(answer.body).toEqual({ error: { code: error.code, message: expect.stringMatching(/\S/) } });
  }
  await expected?.(answer);
});
