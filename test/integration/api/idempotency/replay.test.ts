import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { requestDigestOf } from '#shared/platform/secrets/request-digest.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { unknownRefundId } from '#test/support/refunds/refund-records.ts';
import { holdDecisions } from '#test/support/refunds/refund-requests.ts';
import { type ApiAnswer, type CallOptions, untilVerdict } from '#test/support/service.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

const service = useService({ settings: untilVerdict });
afterEach(async () => {
  vi.restoreAllMocks();
  await expectInvariants(service);
});

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
const boundTo = async (key: string) => {
  const digest = requestDigestOf({ organizationId: service.organization.id, environment: 'test' }, key);
  return await service.deps.db.refund.count({
    where: { OR: [{ idempotencyKey: digest }, { cancelKey: digest }] },
  });
};
/** A refund that the processor cancels on request. */
const createRevocable = async (): Promise<string> => {
  const transactionId = await payment({ paymentMethod: 'customer_balance' });
  return (await create(randomUUID(), bodyFor(transactionId))).body.data.id;
};
const createCancelled = async () => (await cancel(randomUUID(), await createRevocable())).body.data.id;

const visible = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => index + 33));

/** Expects the first response again, marked as a replay. */
function expectReplay(answer: ApiAnswer, { status, body, headers }: ApiAnswer): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body });
  expect(headers).not.toHaveProperty('idempotent-replayed');
  expect(answer.headers['idempotent-replayed']).toBe('true');
}

/** Expects the refund of the first response as it is now, marked as a replay. */
async function expectRefundReplay(answer: ApiAnswer, first: ApiAnswer): Promise<void> {
  const { body } = await service.call('GET', `/v1/refunds/${first.body.data.id}`);
  expectReplay(answer, { ...first, body });
}

function expectCode(answer: ApiAnswer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body.error?.code }).toEqual({ status, code });
}

describe('the same request with the same key', () => {
  test('returns the refund as it is now', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId));
    expect(first.status).toBe(200);
    await waitFor('the refund to complete', async () =>
      (await refundsOf(transactionId)).every(({ status }) => status === 'completed'),
    );
    const repeated = await create(key, bodyFor(transactionId));
    await expectRefundReplay(repeated, first);
    expect(repeated.body.data.status).toBe('completed');
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('returns the same rejection even when the processor would accept by now', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    await service.call('POST', '/v1/policies/check', { body: { transactionId } });
    await service.sandbox.changeTransaction(transactionId, { status: 'disputed' });
    const first = await create(key, bodyFor(transactionId));
    expectCode(first, 502, 'processor_error');
    await service.sandbox.changeTransaction(transactionId, { status: 'succeeded' });
    const repeated = await create(key, bodyFor(transactionId));
    expectReplay(repeated, first);
    const [refund, ...others] = await refundsOf(transactionId);
    expect(others).toEqual([]);
    for (const { headers } of [first, repeated]) expect(headers.location).toBe(`/v1/refunds/${refund?.id}`);
  });

  test('cancels once, whatever its body', async () => {
    const [key, id] = [randomUUID(), await createRevocable()];
    const first = await cancel(key, id);
    expect([first.status, first.body.data?.status]).toEqual([200, 'cancelled']);
    for (const body of [undefined, {}, { force: true }, 'not json']) {
      expectReplay(await cancel(key, id, { body }), first);
    }
    const asked = { refundId: id, type: { in: ['cancel.requested', 'refund.cancelled'] } };
    expect(await service.deps.db.refundEvent.count({ where: asked })).toBe(2);
  });

  test('does not ask the processor again for a cancellation that it refused', async () => {
    const { body } = await create(randomUUID(), bodyFor(await payment()));
    const key = randomUUID();
    expectCode(await cancel(key, body.data.id), 409, 'refund_not_cancellable');
    const again = await cancel(key, body.data.id);
    expectCode(again, 409, 'refund_not_cancellable');
    expect(again.headers['idempotent-replayed']).toBe('true');
    const asked = { refundId: body.data.id, type: 'cancel.requested' };
    expect(await service.deps.db.refundEvent.count({ where: asked })).toBe(1);
  });

  test('may differ in the order and layout of its JSON and in explicit defaults', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId, { metadata: { a: 1, b: { c: [1, 2], d: 2 } } }));
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
    const same = `{ "metadata": {"b":{"d":2.0,"c":[1,2]},\n"a":1}, "reason":"oth\\u0065r",\t"currency":"usd",
      "amount":1e3, "transactionId":"${transactionId}" }`;
    await expectRefundReplay(await service.call('POST', '/v1/refunds', { body: same, headers }), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test.each([
    ['one character', 'k'],
    ['255 characters, among them every visible one', visible.repeat(3).slice(-255)],
  ])('is recognized by a key of %s', async (_what, key) => {
    const transactionId = await payment();
    const first = await create(key, bodyFor(transactionId));
    expect(first.status).toBe(200);
    await expectRefundReplay(await create(key, bodyFor(transactionId)), first);
  });

  test('sent 20 times at once creates one refund', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => create(key, bodyFor(transactionId, { amount: 400 }))),
    );
    const [refund, ...others] = await refundsOf(transactionId);
    expect(others).toEqual([]);
    for (const { status, body } of answers) expect([status, body.data?.id]).toEqual([200, refund?.id]);
    const carriedOut = answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined);
    expect(carriedOut).toHaveLength(1);
  });
});

describe('a different request with the same key', () => {
  test.each([
    ['another amount', { amount: 1_001 }],
    ['more than is left', { amount: 10_001 }],
    ['another reason', { reason: 'wrong_product' }],
    ['metadata', { metadata: {} }],
    ['a processor', { processor: 'stripe' }],
  ])('is refused for %s, and the key keeps its refund', async (_what, change) => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, bodyFor(transactionId));
    expectCode(await create(key, bodyFor(transactionId, change)), 422, 'idempotency_key_reused');
    await expectRefundReplay(await create(key, bodyFor(transactionId)), first);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('is refused when the other one is recorded while it is decided', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    holdDecisions([service.deps], 2);
    const answers = await Promise.all(
      [1_000, 1_001].map((amount) => create(key, bodyFor(transactionId, { amount }))),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('is refused for another operation or refund', async () => {
    const [key, cancelKey] = [randomUUID(), randomUUID()];
    const { body } = await create(key, bodyFor(await payment({ paymentMethod: 'customer_balance' })));
    const [id, other] = [body.data.id, await createRevocable()];
    for (const each of [id, other, unknownRefundId]) {
      expectCode(await cancel(key, each), 422, 'idempotency_key_reused');
    }
    expect((await cancel(cancelKey, other)).status).toBe(200);
    for (const each of [id, unknownRefundId]) {
      expectCode(await cancel(cancelKey, each), 422, 'idempotency_key_reused');
    }
    const transactionId = await payment();
    expectCode(await create(cancelKey, bodyFor(transactionId)), 422, 'idempotency_key_reused');
    expect(await refundsOf(transactionId)).toEqual([]);
    const { body: latest } = await service.call('GET', `/v1/refunds/${id}`);
    expect(latest.data.status).not.toBe('cancelled');
  });

  test('is accepted in another environment or organization', async () => {
    const key = randomUUID();
    const other = await service.addOrganization('With the same key');
    const ids = new Set<string>();
    for (const [environment, { keys }] of [
      ['test', service.organization],
      ['live', service.organization],
      ['test', other],
    ] as const) {
      const body = bodyFor(await payment({ environment }));
      const answer = await create(key, body, { key: keys[environment].plaintext });
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty('idempotent-replayed');
      ids.add(answer.body.data.id);
    }
    expect(ids.size).toBe(3);
  });
});

describe('a refused request', () => {
  const refused: [
    what: string,
    status: number,
    ask: (key: string, transactionId: string) => Promise<ApiAnswer>,
  ][] = [
    ['invalid', 400, async (key, id) => await create(key, bodyFor(id, { amount: 0 }))],
    ['met by an internal error', 500, async (key, id) => await duringFault(() => create(key, bodyFor(id)))],
    ['that no processor can check', 503, async (key) => await duringOutage(key)],
    ['to cancel an unknown refund', 404, async (key) => await cancel(key, unknownRefundId)],
    ['to cancel an ended refund', 409, async (key) => await cancel(key, await createCancelled())],
  ];

  test.each(refused)('%s leaves its key free: %d', async (_what, status, ask) => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await ask(key, transactionId);
    expect(first.status).toBe(status);
    if (status === 503) expect(first.headers['retry-after']).toMatch(/^\d+$/);
    expect(await boundTo(key)).toBe(0);
    const second = await create(key, bodyFor(transactionId));
    expect(second.status).toBe(200);
    expect(second.headers).not.toHaveProperty('idempotent-replayed');
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

  /** The ID does not show its processor, so all of them are asked. */
  async function duringOutage(key: string): Promise<ApiAnswer> {
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    await service.sandbox.fault({ processor: 'braintree', operation: '*', kind: 'error-503', times: null });
    try {
      return await create(key, bodyFor(await payment(), { options: { reverseTransfer: true } }));
    } finally {
      await service.sandbox.clearFaults();
    }
  }
});

test('an agent key cannot bind a key before the client that will send it', async () => {
  const { plaintext: agentKey } = await service.newKey({ agentLimits: { currency: 'usd' } });
  const [key, transactionId] = [randomUUID(), await payment()];
  const captured = await create(key, bodyFor(transactionId), { key: agentKey });
  await cancel(key, captured.body.data.id, { key: agentKey });
  const own = await create(key, bodyFor(transactionId));
  expect([own.status, own.headers['idempotent-replayed']]).toEqual([200, undefined]);
  expect(own.body.data.id).not.toBe(captured.body.data.id);
  expect((await create(key, bodyFor(transactionId))).body.data.id).toBe(own.body.data.id);
  expect((await create(key, bodyFor(transactionId), { key: agentKey })).body.data.id).toBe(
    captured.body.data.id,
  );
});
