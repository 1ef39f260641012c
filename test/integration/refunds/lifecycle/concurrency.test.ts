import { afterEach, expect, test } from 'vitest';
import { PROCESSORS } from '#test/sandbox/processors.ts';
import { allComplete, create } from '#test/support/faults/refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { useService } from '#test/support/use-service.ts';

// Many read their payments at the same time here; none of them is to go on without having read it.
const service = useService({ workers: 2, settings: { TRANSACTION_READ_TIMEOUT_MS: 60_000 } });

afterEach(() => expectInvariants(service));

test.each(PROCESSORS)(
  'of thirty creations of a tenth of a %s payment at once ten are accepted and ten move',
  async (processor) => {
    const transactionId = await newPayment(service, { processor });
    const answers = await Promise.all(Array.from({ length: 30 }, () => create(service, transactionId)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(new Set(statuses)).toEqual(new Set([200, 409]));
    await allComplete(service);
    expect(await service.sandbox.refunds({ transactionId })).toHaveLength(10);
  },
);

test('the database refuses to reserve more than was paid', async () => {
  const transactionId = await newPayment(service);
  await create(service, transactionId);
  const reserveTooMuch = service.deps.db.$executeRaw`
    UPDATE payment SET reserved = amount + 1 WHERE id IN (SELECT payment_id FROM payment_name WHERE name = ${transactionId})`;
  await expect(reserveTooMuch).rejects.toThrow(/payment_not_over_refunded/);
  await allComplete(service);
});

test('concurrent cancellations cancel once', async () => {
  const transactionId = await newPayment(service, { paymentMethod: 'customer_balance' });
  await service.sandbox.settings({ autoSettleMs: null });
  const { body } = await create(service, transactionId);
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => service.call('POST', `/v1/refunds/${body.data.id}/cancel`)),
  );
  expect(answers.map(({ status }) => status)).toContain(200);
  const cancelled = { refundId: body.data.id, type: 'refund.cancelled' };
  expect(await service.deps.db.refundEvent.count({ where: cancelled })).toBe(1);
});
