import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { fingerprintOfCreation } from '#shared/refunds/requests/key-requests.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { agentKey, holdDecisions, refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { outcomeOf, useTwoProcesses } from '../../support/refunds/two-processes.ts';

// Creations with `remaining: true`. Two processes create refunds here.
const { service, other } = useTwoProcesses();

const create = async (body: object, sent: { key?: string; headers?: Record<string, string> } = {}) =>
  await service.call('POST', '/v1/refunds', {
    ...sent,
    headers: { prefer: 'respond-async', ...sent.headers },
    body: { reason: 'other', ...body },
  });
const refunds = async (transactionId: string) =>
  (await service.call('GET', `/v1/payments/${transactionId}`)).body.data;

test('refunds all that is left, and nothing when nothing is', async () => {
  await storePolicies(service, {});
  const transactionId = await newPayment(service, { currency: 'eur' });
  await create({ transactionId, amount: 2_500, currency: 'eur' });
  const asked = { transactionId, remaining: true };
  expect((await create(asked)).body.error.message).toMatch(/^currency: the payment is in EUR/);
  const dryRun = await create({ ...asked, currency: 'eur', dryRun: true });
  expect(dryRun.body.data).toMatchObject({ wouldCreate: true, maxAmount: 7_500 });
  const { status, body } = await create({ ...asked, currency: 'eur' });
  expect([status, body.data.amount]).toEqual([200, 7_500]);
  const again = await create({ ...asked, currency: 'eur' });
  expect([again.status, again.body.error.code]).toEqual([409, 'refund_already_processed']);
  const dryAgain = await create({ ...asked, currency: 'eur', dryRun: true });
  expect(dryAgain.body.data).toMatchObject({
    wouldCreate: false,
    error: { code: 'refund_already_processed' },
  });
});

test.each([
  ['neither', {}, 'amount: is required, unless remaining is true'],
  ['both', { amount: 1, remaining: true }, 'remaining: cannot be combined with amount'],
  ['false', { remaining: false }, 'remaining: must be true, or left out'],
])('a body with %s is a 400', async (_what, body, message) => {
  const answer = await create({ transactionId: 'ch_1', ...body });
  expect([answer.status, answer.body.error]).toEqual([400, { code: 'validation_error', message }]);
});

test('an idempotency key is bound to it, also for a request that has to be compared without a fingerprint', async () => {
  const transactionId = await newPayment(service);
  const headers = { 'idempotency-key': randomUUID() };
  const first = await create({ transactionId, remaining: true }, { headers });
  const again = await create({ transactionId, remaining: true }, { headers });
  expect([again.status, again.body.data.id]).toEqual([200, first.body.data.id]);
  expect((await create({ transactionId, amount: 10_000 }, { headers })).status).toBe(422);
  const content = { transactionId, reason: 'other', currency: 'usd' } as const;
  expect(fingerprintOfCreation({ ...content, remaining: true })).not.toEqual(fingerprintOfCreation(content));
});

test('while nothing is known of the payment, nothing is created', async () => {
  await storePolicies(service, {});
  const transactionId = await newPayment(service);
  await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
  const { status, body } = await create({ transactionId, remaining: true });
  expect([status, body.error.code]).toEqual([503, 'service_unavailable']);
  expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
});

test('what becomes left while it is decided is decided about as well', async () => {
  await storePolicies(service, {});
  const apiKey = await agentKey(service, { maxPerRefund: 5_000 });
  const transactionId = await newPayment(service);
  const first = await create({ transactionId, amount: 6_000 });
  const payment = service.deps.lookups.payment.bind(service.deps.lookups);
  vi.spyOn(service.deps.lookups, 'payment').mockImplementationOnce(async (...given) => {
    const stored = await payment(...given);
    const { status } = await service.call('POST', `/v1/refunds/${first.body.data.id}/cancel`);
    expect(status).toBe(200);
    return stored;
  });
  const asked = refundRequest(service, transactionId, { amount: 'remaining', apiKey });
  expect(await outcomeOf(service, asked)).toBe('policy_denied');
  expect((await rowOf(service, first.body.data.id)).status).toBe('cancelled');
  expect(await refunds(transactionId)).toMatchObject({ remaining: 10_000 });
});

test.each(['stripe', 'braintree'])(
  'two at once with three of an amount never exceed the payment at %s, which is refunded in full',
  async (processor) => {
    await storePolicies(service, {});
    for (let round = 0; round < 4; round += 1) {
      const transactionId = await newPayment(service, { processor });
      // Both a payment that is new and one that is on record.
      if (round % 2 === 0) await create({ transactionId, amount: 1_000 });
      const amounts = ['remaining', 2_000n, 'remaining', 2_000n, 2_000n] as const;
      holdDecisions([service.deps, other.deps], amounts.length);
      const outcomes = await Promise.all(
        amounts.map((amount, index) =>
          outcomeOf(index % 2 === 0 ? service : other, refundRequest(service, transactionId, { amount })),
        ),
      );
      vi.restoreAllMocks();
      const { amount, reserved, refunds: made } = await refunds(transactionId);
      const sum = made.reduce((total: number, each: { amount: number }) => total + each.amount, 0);
      // One takes all that is left, and nothing follows it.
      expect([sum, reserved], JSON.stringify(outcomes)).toEqual([amount, amount]);
      expect([outcomes[0], outcomes[2]].toSorted()).toEqual(['processing', 'refund_already_processed']);
    }
  },
);
