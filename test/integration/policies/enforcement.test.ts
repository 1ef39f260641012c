import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createRefund } from '../../../shared/refunds/lifecycle/create.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
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

describe('a policy that advises', () => {
  test('reports a payment outside its window and does not stop the refund', async () => {
    await storePolicies(service, { windowDays: 30 });
    const transactionId = await payment({ createdAt: monthsAgo() });
    const { body } = await service.call('POST', '/v1/policies/check', { body: { transactionId } });
    expect(body.data.eligible).toBe(false);
    expect((await create(transactionId, 1_000)).status).toBe(200);
  });
});

/** A refund that an agent requests with an ordinary key. */
async function createByAgent(transactionId: string) {
  const { id } = service.organization.keys.test;
  return await createRefund(service.deps, {
    ...{ organizationId: service.organization.id, environment: 'test' },
    ...{ apiKey: { id, agentLimits: null }, actor: `key:${id}`, initiatedBy: 'mcp' },
    ...{ transactionId, amount: 100n, currency: 'usd', reason: 'other', processor: 'stripe' },
    ...{ metadata: null, idempotency: null },
  });
}

describe('a policy that advises people and backends, for an agent', () => {
  test('rejects a refund that it denies', async () => {
    await storePolicies(service, { windowDays: 30 });
    const transactionId = await payment({ createdAt: monthsAgo() });
    await expect(createByAgent(transactionId)).rejects.toMatchObject({ code: 'policy_denied' });
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
  });

  test('rejects refunds of unknown payments while the processor is unreachable', async () => {
    await storePolicies(service, { windowDays: 30 });
    const transactionId = await payment();
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    await expect(createByAgent(transactionId)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
  });
});

describe('a policy that is enforced', () => {
  test('rejects a refund with 403 and its reason and reserves nothing', async () => {
    await storePolicies(service, { windowDays: 30, enforce: { api: true } });
    const transactionId = await payment({ createdAt: monthsAgo() });
    const { status, body } = await create(transactionId, 1_000);
    expect({ status, code: body.error.code }).toEqual({ status: 403, code: 'policy_denied' });
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
    const held = await service.deps.db.payment.findMany({
      where: { names: { some: { name: transactionId } }, reserved: { gt: 0 } },
    });
    expect(held).toEqual([]);
  });

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

  test('rejects refunds of unknown payments while the processor is unreachable', async () => {
    await storePolicies(service, { windowDays: 30, enforce: { api: true } });
    const transactionId = await payment();
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    const { status, body, headers } = await create(transactionId, 100);
    expect({ status, code: body.error.code }).toEqual({ status: 503, code: 'service_unavailable' });
    expect(headers['retry-after']).toBe('5');
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
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

  test('does not require approval at the threshold', async () => {
    await storePolicies(service, { approvalAbove: { api: 5_000 } });
    expect((await create(await payment(), 5_000)).body.data.status).toBe('processing');
  });

  test('releases the reservation of a pending refund that is cancelled', async () => {
    await storePolicies(service, { approvalAbove: { api: 0 } });
    const transactionId = await payment();
    const { body } = await create(transactionId, 10_000);
    const cancelled = await service.call('POST', `/v1/refunds/${body.data.id}/cancel`);
    expect({ status: cancelled.status, refundStatus: cancelled.body.data.status }).toEqual({
      status: 200,
      refundStatus: 'cancelled',
    });
    expect(cancelled.body.data.updatedAt >= body.data.updatedAt).toBe(true);
    expect((await create(transactionId, 10_000)).status).toBe(200);
  });
});
