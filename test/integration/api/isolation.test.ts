import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '#shared/platform/environment.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import type { TestOrganization } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
let own: TestOrganization;
let other: TestOrganization;
beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: null });
  own = service.organization;
  other = await service.addOrganization('Other');
});
afterEach(() => expectInvariants(service));

const payment = async (environment: Environment = 'test', options: object = {}) =>
  await newPayment(service, { environment, paymentMethod: 'customer_balance', ...options });
const create = async (key: string, transactionId: string, amount = 1_000) =>
  await service.call('POST', '/v1/refunds', { key, body: { transactionId, amount, reason: 'other' } });

describe('organizations and environments', () => {
  test('have separate reservations for the same payment', async () => {
    const transactionId = await payment();
    const full = await create(own.keys.test.plaintext, transactionId, 10_000);
    expect(full.status).toBe(200);
    expect((await create(own.keys.test.plaintext, transactionId, 1)).status).toBe(409);
    const where = { names: { some: { name: transactionId } } };
    const [reserved, ...more] = await service.deps.db.payment.findMany({ where });
    expect([reserved?.organizationId, more]).toEqual([own.id, []]);
    await create(other.keys.test.plaintext, transactionId, 10_000);
    const rows = await service.deps.db.payment.findMany({ where });
    expect(rows.find(({ organizationId }) => organizationId === own.id)).toEqual(reserved);
  });

  test.each(['test', 'live'] as const)(
    'move nothing in the other one: a %s key with the ID of a payment there',
    async (environment) => {
      const other = environment === 'test' ? 'live' : 'test';
      const transactionId = await payment(other);
      // The sandbox creates a payment with that id in the key's environment.
      const { body } = await create(own.keys[environment].plaintext, transactionId, 10_000);
      expect(await service.sandbox.refunds({ environment: other, transactionId })).toEqual([]);
      expect((await create(own.keys[other].plaintext, transactionId, 10_000)).status).toBe(200);
      expect(await service.sandbox.refunds({ environment, transactionId })).toMatchObject([
        { key: body.data.id },
      ]);
    },
  );

  test('do not share processor accounts', async () => {
    await service.ownerDb.processorAccount.deleteMany({
      where: { organizationId: other.id, environment: 'live', processor: 'braintree' },
    });
    const transactionId = await payment('live', { processor: 'braintree', paymentMethod: undefined });
    const { status, body } = await service.call('POST', '/v1/refunds', {
      key: other.keys.live.plaintext,
      body: { transactionId, amount: 1, reason: 'other', processor: 'braintree' },
    });
    expect([status, body.error?.code]).toEqual([400, 'validation_error']);
    expect(body.error.message).toContain('live environment');
  });
});
