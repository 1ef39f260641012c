import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { type ApiAnswer, type CallOptions, startService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

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
const boundTo = async (key: string) =>
  await service.deps.db.refund.count({ where: { OR: [{ idempotencyKey: key }, { cancelKey: key }] } });
const asItIsNow = async (id: string) => (await service.call('GET', `/v1/refunds/${id}`)).body;

/** The same refund, as it is now. */
async function expectReplay(answer: ApiAnswer, first: ApiAnswer): Promise<void> {
  expectReplayedAlike(answer, { ...first, body: await asItIsNow(first.body.data.id) });
}

/** Word for word what was answered the first time. */
function expectReplayedAlike(answer: ApiAnswer, first: ApiAnswer): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status: first.status, body: first.body });
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  expect(answer.headers['idempotent-replayed']).toBe('true');
}

/** A request that was answered alike, and that was carried out anew. */
function expectCarriedOutAnew(answer: ApiAnswer, first: ApiAnswer): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status: first.status, body: first.body });
  expect(answer.headers).not.toHaveProperty('idempotent-replayed');
}

function expectCode(answer: ApiAnswer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body.error?.code }).toEqual({ status, code });
}

describe('the same request with the same key is carried out once, and answered with the refund as it is now', () => {
  test('also when the refund has moved on since', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId));
    expect(first.status).toBe(200);
    await waitFor('the refund to complete', async () =>
      (await refundsOf(transactionId)).every(({ status }) => status === 'completed'),
    );
    const repeated = await create(key, bodyFor(transactionId));
    await expectReplay(repeated, first);
    expect(repeated.body.data.status).toBe('completed');
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('with the same words for a rejection, which stays although the processor would accept by now', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    await service.call('POST', '/v1/policies/check', { body: { transactionId } });
    await service.sandbox.changeTransaction(transactionId, { status: 'disputed' });
    const first = await create(key, bodyFor(transactionId));
    expectCode(first, 502, 'processor_error');
    await service.sandbox.changeTransaction(transactionId, { status: 'succeeded' });
    expectReplayedAlike(await create(key, bodyFor(transactionId)), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('and so is a cancellation', async () => {
    const { body } = await create(
      randomUUID(),
      bodyFor(await payment({ paymentMethod: 'customer_balance' })),
    );
    const key = randomUUID();
    const first = await cancel(key, body.data.id);
    expect([first.status, first.body.data?.status]).toEqual([200, 'cancelled']);
    expectReplayedAlike(await cancel(key, body.data.id), first);
    for (const ignored of [{}, { force: true }, 'not json']) {
      expectReplayedAlike(await cancel(key, body.data.id, { body: ignored }), first);
    }
    const { id: refundId } = body.data;
    const asked = { refundId, type: { in: ['cancel.requested', 'refund.cancelled'] } };
    expect(await service.deps.db.refundEvent.count({ where: asked })).toBe(2);
  });

  test('and so is a cancellation that the processor refuses: it is not asked again', async () => {
    const { body } = await create(randomUUID(), bodyFor(await payment()));
    const key = randomUUID();
    const first = await cancel(key, body.data.id);
    expectCode(first, 409, 'refund_not_cancellable');
    const again = await cancel(key, body.data.id);
    expectCode(again, 409, 'refund_not_cancellable');
    expect(again.headers['idempotent-replayed']).toBe('true');
    const asked = { refundId: body.data.id, type: 'cancel.requested' };
    expect(await service.deps.db.refundEvent.count({ where: asked })).toBe(1);
  });

  test('whatever the order and the layout of its JSON, and whether defaults are written out', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId, { metadata: { a: 1, b: { c: [1, 2], d: 2 } } }));
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
    const same = `{ "metadata": {"b":{"d":2.0,"c":[1,2]},\n"a":1}, "reason":"oth\\u0065r",\t"currency":"usd",
      "amount":1e3, "transactionId":"${transactionId}" }`;
    await expectReplay(await service.call('POST', '/v1/refunds', { body: same, headers }), first);
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
    await expectReplay(await create(key, bodyFor(transactionId)), first);
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
    await expectReplay(await create(key, bodyFor(transactionId)), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('so another path is refused, and nothing is cancelled or made', async () => {
    const key = randomUUID();
    const { body } = await create(key, bodyFor(await payment({ paymentMethod: 'customer_balance' })));
    const { body: other } = await create(
      randomUUID(),
      bodyFor(await payment({ paymentMethod: 'customer_balance' })),
    );
    for (const id of [body.data.id, other.data.id, unknownRefundId]) {
      expectCode(await cancel(key, id), 422, 'idempotency_key_reused');
    }
    const cancelKey = randomUUID();
    expect((await cancel(cancelKey, other.data.id)).status).toBe(200);
    for (const id of [body.data.id, unknownRefundId]) {
      expectCode(await cancel(cancelKey, id), 422, 'idempotency_key_reused');
    }
    const transactionId = await payment();
    expectCode(await create(cancelKey, bodyFor(transactionId)), 422, 'idempotency_key_reused');
    expect(await refundsOf(transactionId)).toEqual([]);
    expect((await asItIsNow(body.data.id)).data.status).not.toBe('cancelled');
  });

  test('so of two cancellations of different refunds at once with one key, one is carried out', async () => {
    const [key, ids] = [randomUUID(), [] as string[]];
    for (const _each of [1, 2, 3, 4]) {
      const transactionId = await payment({ paymentMethod: 'customer_balance' });
      ids.push((await create(randomUUID(), bodyFor(transactionId))).body.data.id);
    }
    const answers = await Promise.all(ids.map((id) => cancel(key, id)));
    const carriedOut = answers.filter(({ status }) => status === 200);
    expect(carriedOut).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status !== 200) expectCode(answer, 422, 'idempotency_key_reused');
    }
    expect(await boundTo(key)).toBe(1);
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

  test.each([2, 20])(
    'so %i requests at once make one refund, and all are answered with it',
    async (count) => {
      const [key, transactionId] = [randomUUID(), await payment()];
      const answers = await Promise.all(
        Array.from({ length: count }, () => create(key, bodyFor(transactionId, { amount: 400 }))),
      );
      const [refund, ...others] = await refundsOf(transactionId);
      expect(others).toEqual([]);
      for (const { status, body } of answers) {
        expect([status, body.data?.id]).toEqual([200, refund?.id]);
      }
      const carriedOut = answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined);
      expect(carriedOut).toHaveLength(1);
    },
  );

  test('so a request and another one at once make one refund, and the other is refused', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const answers = await Promise.all(
      [400, 500].map((amount) => create(key, bodyFor(transactionId, { amount }))),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });
});

describe('a request that made no refund binds nothing, and is carried out anew', () => {
  test('for a transaction that has been refunded already', async () => {
    const [key, transactionId] = [randomUUID(), await payment({ paymentMethod: 'customer_balance' })];
    const { body: whole } = await create(randomUUID(), bodyFor(transactionId, { amount: 10_000 }));
    const first = await create(key, bodyFor(transactionId));
    expectCode(first, 409, 'refund_already_processed');
    expectCarriedOutAnew(await create(key, bodyFor(transactionId)), first);
    expect((await cancel(randomUUID(), whole.data.id)).status).toBe(200);
    expect((await create(key, bodyFor(transactionId))).status).toBe(200);
  });

  test('for a policy that said no, until it is gone', async () => {
    const { id: organizationId, keys } = await service.addOrganization('With a strict policy');
    const policy = { name: 'Nothing', priority: 1, finalSale: true, enforce: { api: true, dashboard: true } };
    const set = async (policies: object[]) =>
      await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
    const [key, transactionId] = [randomUUID(), await payment()];
    const ask = async () => await create(key, bodyFor(transactionId), { key: keys.test.plaintext });
    await set([policy]);
    const first = await ask();
    expectCode(first, 403, 'policy_denied');
    expectCarriedOutAnew(await ask(), first);
    expect(await refundsOf(transactionId)).toEqual([]);
    await set([{ name: 'Everything', priority: 1 }]);
    const accepted = await ask();
    expect(accepted.status).toBe(200);
    await set([policy]);
    // What would be refused now was accepted the first time.
    const repeated = await ask();
    expect([repeated.status, repeated.body.data?.id]).toEqual([200, accepted.body.data.id]);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('for a cancellation that came too late, and for one of an unknown refund', async () => {
    const transactionId = await payment({ paymentMethod: 'customer_balance' });
    const { body } = await create(randomUUID(), bodyFor(transactionId));
    await cancel(randomUUID(), body.data.id);
    const [lateKey, unknownKey] = [randomUUID(), randomUUID()];
    const late = await cancel(lateKey, body.data.id);
    expectCode(late, 409, 'refund_not_cancellable');
    expectCarriedOutAnew(await cancel(lateKey, body.data.id), late);
    const unknown = await cancel(unknownKey, unknownRefundId);
    expectCode(unknown, 404, 'not_found');
    expectCarriedOutAnew(await cancel(unknownKey, unknownRefundId), unknown);
    for (const key of [lateKey, unknownKey]) {
      expect(await boundTo(key)).toBe(0);
      expect((await create(key, bodyFor(await payment()))).status).toBe(200);
    }
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
    expect(await boundTo(key)).toBe(0);
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
      expect(await boundTo(keys[refusedAt] ?? '')).toBe(0);
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
