import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { setPolicies } from '../../shared/organizations/policies.ts';
import { postgresQueues } from '../harness/backends.ts';
import { expectInvariants } from '../harness/invariants.ts';
import { newPayment } from '../harness/payments.ts';
import { unknownRefundId } from '../harness/refund-records.ts';
import { type ApiAnswer, type CallOptions, startService } from '../harness/service.ts';
import { useService } from '../harness/use-service.ts';
import { waitFor } from '../harness/wait-for.ts';

const service = useService({ settings: { PROCESSOR_TIMEOUT_MS: 4_000 } });
afterEach(() => expectInvariants(service));

const payment = async (options = {}) => await newPayment(service, options);
const bodyFor = (transactionId: string, more: object = {}) => ({
  transactionId,
  amount: 1_000,
  reason: 'other',
  ...more,
});
const create = async (key: string, body: unknown, options: CallOptions = {}) =>
  await service.call('POST', '/v1/refunds', { ...options, body, headers: { 'idempotency-key': key } });
const cancel = async (key: string, id: string, options: CallOptions = {}) =>
  await service.call('POST', `/v1/refunds/${id}/cancel`, { ...options, headers: { 'idempotency-key': key } });
const refundsOf = async (transactionId: string) =>
  await service.deps.db.refund.findMany({ where: { transactionId } });
const keyRow = async (key: string) => await service.deps.db.idempotencyKey.findFirst({ where: { key } });

function expectReplay(answer: ApiAnswer, first: ApiAnswer): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status: first.status, body: first.body });
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  expect(answer.headers['idempotent-replayed']).toBe('true');
}

function expectCode(answer: ApiAnswer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body.error?.code }).toEqual({ status, code });
}

describe('the same request with the same key is answered the same, and carried out once', () => {
  test('for a refund, also when that has moved on since', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId));
    expect(first.status).toBe(200);
    await waitFor('the refund to complete', async () =>
      (await refundsOf(transactionId)).every(({ status }) => status === 'completed'),
    );
    expectReplay(await create(key, bodyFor(transactionId)), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('for a rejection, which stays although the processor would accept by now', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    await service.call('POST', '/v1/policies/check', { body: { transactionId } });
    await service.sandbox.changeTransaction(transactionId, { status: 'disputed' });
    const first = await create(key, bodyFor(transactionId));
    expectCode(first, 502, 'processor_error');
    await service.sandbox.changeTransaction(transactionId, { status: 'succeeded' });
    expectReplay(await create(key, bodyFor(transactionId)), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('for a transaction that has been refunded already', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    await create(randomUUID(), bodyFor(transactionId, { amount: 10_000 }));
    const first = await create(key, bodyFor(transactionId));
    expectCode(first, 409, 'refund_already_processed');
    expectReplay(await create(key, bodyFor(transactionId)), first);
  });

  test('for a policy that said no, also after the policy is gone', async () => {
    const { id: organizationId, keys } = await service.addOrganization('With a strict policy');
    const policy = { name: 'Nothing', priority: 1, finalSale: true, enforce: { api: true, dashboard: true } };
    const set = async (policies: object[]) =>
      await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
    const [key, transactionId] = [randomUUID(), await payment()];
    const ask = async () => await create(key, bodyFor(transactionId), { key: keys.test.plaintext });
    await set([policy]);
    const first = await ask();
    expectCode(first, 403, 'policy_denied');
    await set([{ name: 'Everything', priority: 1 }]);
    expectReplay(await ask(), first);
    expect(await refundsOf(transactionId)).toEqual([]);
  });

  test('for a cancellation, for one that came too late, and for one of an unknown refund', async () => {
    const { body } = await create(
      randomUUID(),
      bodyFor(await payment({ paymentMethod: 'customer_balance' })),
    );
    const [key, lateKey, unknownKey] = [randomUUID(), randomUUID(), randomUUID()];
    const first = await cancel(key, body.data.id);
    expect([first.status, first.body.data?.status]).toEqual([200, 'cancelled']);
    expectReplay(await cancel(key, body.data.id), first);
    for (const ignored of [{}, { force: true }, 'not json']) {
      expectReplay(await cancel(key, body.data.id, { body: ignored }), first);
    }
    const late = await cancel(lateKey, body.data.id);
    expectCode(late, 409, 'refund_not_cancellable');
    expectReplay(await cancel(lateKey, body.data.id), late);
    const unknown = await cancel(unknownKey, unknownRefundId);
    expectCode(unknown, 404, 'not_found');
    expectReplay(await cancel(unknownKey, unknownRefundId), unknown);
  });

  test('whatever the order and the layout of its JSON, and whether defaults are written out', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId, { metadata: { a: 1, b: { c: [1, 2], d: 2 } } }));
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
    const same = `{ "metadata": {"b":{"d":2.0,"c":[1,2]},\n"a":1}, "reason":"oth\\u0065r",\t"currency":"usd",
      "amount":1e3, "transactionId":"${transactionId}" }`;
    expectReplay(await service.call('POST', '/v1/refunds', { body: same, headers }), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test.each([
    ['one character', 'k'],
    ['255 characters', 'k'.repeat(255)],
    ['every visible character', String.fromCharCode(...Array.from({ length: 94 }, (_, index) => index + 33))],
  ])('with a key of %s', async (_what, key) => {
    const transactionId = await payment();
    const first = await create(key, bodyFor(transactionId));
    expect(first.status).toBe(200);
    expectReplay(await create(key, bodyFor(transactionId)), first);
  });
});

describe('a key names one request', () => {
  test.each([
    ['another amount', { amount: 1_001 }],
    ['another reason', { reason: 'wrong_product' }],
    ['metadata', { metadata: {} }],
    ['a processor', { processor: 'stripe' }],
  ])('so a body with %s is refused, and the key keeps its refund', async (_what, change) => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId));
    expectCode(await create(key, bodyFor(transactionId, change)), 422, 'idempotency_key_reused');
    expectReplay(await create(key, bodyFor(transactionId)), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('so another path is refused, and nothing is cancelled', async () => {
    const key = randomUUID();
    const { body } = await create(key, bodyFor(await payment({ paymentMethod: 'customer_balance' })));
    expectCode(await cancel(key, body.data.id), 422, 'idempotency_key_reused');
    const cancelKey = randomUUID();
    await cancel(cancelKey, unknownRefundId);
    expectCode(await cancel(cancelKey, body.data.id), 422, 'idempotency_key_reused');
    const { body: latest } = await service.call('GET', `/v1/refunds/${body.data.id}`);
    expect(latest.data.status).not.toBe('cancelled');
  });

  test('within one environment of one organization: elsewhere it is another key', async () => {
    const key = randomUUID();
    const other = await service.addOrganization('With the same key');
    const keys = [service.organization.keys.test, service.organization.keys.live, other.keys.test];
    const bodies = await Promise.all(
      keys.map(async (_apiKey, index) =>
        bodyFor(await payment({ environment: index === 1 ? 'live' : 'test' })),
      ),
    );
    const ids = new Set<string>();
    for (const [index, { plaintext }] of keys.entries()) {
      const answer = await create(key, bodies[index], { key: plaintext });
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty('idempotent-replayed');
      ids.add(answer.body.data.id);
    }
    expect(ids.size).toBe(3);
  });

  test('so twenty requests at once make one refund', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => create(key, bodyFor(transactionId, { amount: 400 }))),
    );
    const [refund, ...others] = await refundsOf(transactionId);
    expect(others).toEqual([]);
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.body.data.id).toBe(refund?.id);
      else {
        expectCode(answer, 409, 'idempotency_in_progress');
        expect(answer.headers['retry-after']).toBe('1');
      }
    }
    const carriedOut = answers.filter(
      ({ status, headers }) => status === 200 && headers['idempotent-replayed'] === undefined,
    );
    expect(carriedOut).toHaveLength(1);
  });
});

describe('a request that was not carried out binds nothing, and its key may be used for a better one', () => {
  const json = { 'content-type': 'application/json' };
  const raw = async (key: string, body: string, headers: Record<string, string>, apiKey?: string) =>
    await service.call('POST', '/v1/refunds', {
      body,
      headers: { 'idempotency-key': key, ...headers },
      ...(apiKey === undefined ? {} : { key: apiKey }),
    });

  const refused: [
    what: string,
    status: number,
    ask: (key: string, transactionId: string) => Promise<ApiAnswer>,
  ][] = [
    ['is not valid', 400, async (key, id) => await create(key, bodyFor(id, { amount: 0 }))],
    ['is no JSON', 400, async (key) => await raw(key, '{', json)],
    [
      'asks for more than is left',
      400,
      async (key, id) => await create(key, bodyFor(id, { amount: 10_001 })),
    ],
    ['has no valid key', 401, async (key) => await raw(key, '{}', json, 'svc_test_wrong')],
    ['is too large', 413, async (key) => await raw(key, ' '.repeat(70_000), json)],
    ['is of another type', 415, async (key) => await raw(key, 'a=b', { 'content-type': 'text/plain' })],
    ['met a fault', 500, async (key, id) => await duringFault(() => create(key, bodyFor(id)))],
    ['could not be carried out just now', 503, async (key) => await duringOutage(key)],
  ];

  test.each(refused)('when it %s: %d', async (_what, status, ask) => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await ask(key, transactionId);
    expect(first.status).toBe(status);
    if (status === 503) expect(first.headers['retry-after']).toMatch(/^\d+$/);
    expect(await keyRow(key)).toBeNull();
    const second = await create(key, bodyFor(transactionId));
    expect(second.status).toBe(200);
    expect(second.headers).not.toHaveProperty('idempotent-replayed');
  });

  test('when it came too fast: 429', async () => {
    const limited = await startService({
      databaseUrl: service.settings.DATABASE_URL,
      backend: postgresQueues,
      workers: 0,
      settings: { RATE_LIMIT_PER_SECOND: 1 },
    });
    try {
      const keys = Array.from({ length: 10 }, () => randomUUID());
      const answers = await Promise.all(
        keys.map((key) =>
          limited.call('POST', '/v1/refunds', {
            body: bodyFor('ch_missing'),
            headers: { 'idempotency-key': key },
          }),
        ),
      );
      const refusedAt = answers.findIndex(({ status }) => status === 429);
      expect(answers[refusedAt]?.body.error.code).toBe('rate_limited');
      expect(answers[refusedAt]?.headers['retry-after']).toBe('1');
      expect(await keyRow(keys[refusedAt] ?? '')).toBeNull();
    } finally {
      await limited.close();
    }
  });

  async function duringFault(ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
    const connect = vi.spyOn(service.deps.connections, 'connect').mockImplementation(() => {
      throw new Error('a fault');
    });
    try {
      return await ask();
    } finally {
      connect.mockRestore();
    }
  }

  /** An id that gives no processor away cannot be placed while the processors are silent. */
  async function duringOutage(key: string): Promise<ApiAnswer> {
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    await service.sandbox.fault({ processor: 'braintree', operation: '*', kind: 'error-503', times: null });
    try {
      return await create(key, bodyFor('anybodys'));
    } finally {
      await service.sandbox.clearFaults();
    }
  }
});
