import { afterEach, beforeAll, expect, test } from 'vitest';
import { markPaymentStale } from '#shared/payments/payment.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { askForRefund } from '../../support/refunds/new-refund.ts';
import { newPayment, storedPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { agentKey } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();

beforeAll(() => service.sandbox.settings({ autoSettleMs: 50 }));
afterEach(async () => {
  await service.sandbox.clearFaults();
  await expectInvariants(service);
});

const create = async (transactionId: string, amount: number, key?: string) =>
  await askForRefund(service, { transactionId, amount }, key === undefined ? {} : { key });

async function createByApi(transactionId: string, key?: string): Promise<string> {
  const { body } = await create(transactionId, 1_000, key);
  return body.data?.status ?? body.error.code;
}

test.each<[string, object, string, isAgent?: true]>([
  ['an agent key', {}, 'service_unavailable', true],
  ['an enforced policy', { windowDays: 30, enforce: { api: true } }, 'service_unavailable'],
  ['a threshold of approval', { approvalAbove: { api: 5_000 } }, 'service_unavailable'],
  ['an advisory policy alone', { windowDays: 30 }, 'processing'],
])(
  'creates nothing with %s while the processor is down, unless the payment was read before',
  async (_what, policy, outcome, isAgent) => {
    await storePolicies(service, policy);
    const key = isAgent && (await agentKey(service, {})).plaintext;
    const [unread, read] = [await newPayment(service), await newPayment(service)];
    expect(await createByApi(read, key)).toBe('processing');
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    expect(await createByApi(unread, key)).toBe(outcome);
    const stored = await service.deps.db.refund.count({ where: { transactionId: unread } });
    expect(stored).toBe(outcome === 'processing' ? 1 : 0);
    expect(await createByApi(read, key)).toBe('processing');
  },
);

test.each<[string, string, object, object?]>([
  ['an agent key', 'service_unavailable', {}, { maxPerPayment: 5_000 }],
  [
    'an enforced policy',
    'service_unavailable',
    { maxAmount: { amount: 5_000, currency: 'usd' }, enforce: { api: true } },
  ],
  ['a threshold of approval', 'service_unavailable', { approvalAbove: { api: 5_000 } }],
  ['an advisory policy alone', 'processing', { maxAmount: { amount: 5_000, currency: 'usd' } }],
])(
  'a creation with %s gets %s while a payment that has changed cannot be read again',
  async (_what, outcome, policy, limits) => {
    await storePolicies(service, policy);
    const key = limits && (await agentKey(service, limits)).plaintext;
    const transactionId = await newPayment(service);
    expect(await createByApi(transactionId, key)).toBe('processing');
    await refundDirectly(service, { processor: 'stripe', transactionId, amount: 4_000 });
    // As the processor's webhook does.
    await markPaymentStale(service.deps.db, (await storedPayment(service, transactionId)).id);
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    expect(await createByApi(transactionId, key)).toBe(outcome);
  },
);

test('keeps a refund above its threshold pending, reserved and unsent', async () => {
  await storePolicies(service, { approvalAbove: { api: 5_000 } });
  const transactionId = await newPayment(service);
  const { status, body } = await create(transactionId, 5_001);
  expect({ status, refundStatus: body.data.status }).toEqual({ status: 200, refundStatus: 'pending' });
  expect(body.data.externalRefundId).toBeNull();
  const { status: tooMuch } = await create(transactionId, 5_000);
  expect(tooMuch).toBe(400);
  expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
});
