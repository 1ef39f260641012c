import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();

beforeAll(() => service.sandbox.settings({ autoSettleMs: 50 }));
afterEach(async () => {
  await service.sandbox.clearFaults();
  await expectInvariants(service);
});

async function payment(options: object = {}): Promise<string> {
  return await service.sandbox.transaction({
    processor: 'stripe',
    amount: 10_000,
    currency: 'usd',
    ...options,
  });
}

async function create(transactionId: string, amount: number) {
  const body = { transactionId, amount, reason: 'other' };
  return await service.call('POST', '/v1/refunds', { body });
}

const monthsAgo = () => new Date(Date.now() - 60 * 24 * 60 * 60 * 1000).toISOString();

/** A refund that an agent requests with an ordinary key. */
async function createByAgent(transactionId: string): Promise<string> {
  const asked = refundRequest(service, transactionId, { initiatedBy: 'mcp' });
  return await createRefund(service.deps, asked).then(
    ({ refund }) => refund.status,
    ({ code }) => code,
  );
}

async function createByApi(transactionId: string): Promise<string> {
  const { body } = await create(transactionId, 1_000);
  return body.data?.status ?? body.error.code;
}

test.each<[string, object, string]>([
  ['an enforced policy', { windowDays: 30, enforce: { api: true } }, 'service_unavailable'],
  ['a threshold of approval', { approvalAbove: { api: 5_000 } }, 'service_unavailable'],
  ['an advisory policy alone', { windowDays: 30 }, 'processing'],
])(
  'creates nothing with %s while the processor is down, unless the payment was read before',
  async (_what, policy, outcome) => {
    await storePolicies(service, policy);
    const [unread, read] = [await payment(), await payment()];
    expect(await createByApi(read)).toBe('processing');
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    expect(await createByApi(unread)).toBe(outcome);
    const stored = await service.deps.db.refund.count({ where: { transactionId: unread } });
    expect(stored).toBe(outcome === 'processing' ? 1 : 0);
    expect(await createByApi(read)).toBe('processing');
  },
);

describe('a policy with a refund window', () => {
  const advisory = { windowDays: 30 };
  const enforced = { windowDays: 30, enforce: { api: true } };

  test.each([
    ['advises a backend', advisory, createByApi, 'processing'],
    ['binds a backend where it is enforced', enforced, createByApi, 'policy_denied'],
    ['always binds an agent', advisory, createByAgent, 'policy_denied'],
  ])('%s about a payment outside of it', async (_what, policy, ask, outcome) => {
    await storePolicies(service, policy);
    const transactionId = await payment({ createdAt: monthsAgo() });
    const { body } = await service.call('POST', '/v1/policies/check', { body: { transactionId } });
    expect(body.data.eligible).toBe(false);
    expect(await ask(transactionId)).toBe(outcome);
    const isCreated = outcome === 'processing';
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(isCreated ? 1 : 0);
    const where = { names: { some: { name: transactionId } }, reserved: { gt: 0 } };
    expect(await service.deps.db.payment.count({ where })).toBe(isCreated ? 1 : 0);
  });

  test.each([
    ['a backend', enforced, createByApi],
    ['an agent', advisory, createByAgent],
  ])('refuses %s an unknown payment while the processor is unreachable', async (_who, policy, ask) => {
    await storePolicies(service, policy);
    const transactionId = await payment();
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    expect(await ask(transactionId)).toBe('service_unavailable');
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
  });
});

describe('a policy that is enforced', () => {
  test('enforces its limit on concurrent refunds', async () => {
    await storePolicies(service, { velocity: { perTransaction: 2 }, enforce: { api: true } });
    const transactionId = await payment();
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(transactionId, 100)));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, 200, 403, 403, 403, 403, 403, 403]);
  });

  test('enforces a daily limit across concurrently refunded payments', async () => {
    const before = await service.deps.db.refund.count({
      where: { status: { notIn: ['failed', 'cancelled'] } },
    });
    await storePolicies(service, { velocity: { perDay: { count: before + 3 } }, enforce: { api: true } });
    const payments = await Promise.all(Array.from({ length: 8 }, () => payment()));
    const answers = await Promise.all(payments.map((transactionId) => create(transactionId, 100)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
  });
});

describe('a policy that requires approval', () => {
  test('keeps a refund above its threshold pending, reserved and unsent', async () => {
    await storePolicies(service, { approvalAbove: { api: 5_000 } });
    const transactionId = await payment();
    const { status, body } = await create(transactionId, 5_001);
    expect({ status, refundStatus: body.data.status }).toEqual({ status: 200, refundStatus: 'pending' });
    expect(body.data.externalRefundId).toBeNull();
    const { status: tooMuch } = await create(transactionId, 5_000);
    expect(tooMuch).toBe(400);
    expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
  });
});
