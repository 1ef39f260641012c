import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { expireProcessorEvents } from '#worker/schedule/retention.ts';
import { webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { untilReviewed } from '../../support/refunds/refund-work.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { watchReadings } from '../../support/watched-readings.ts';

const service = useService();
const webhooks = useWebhooks(service);

const dayMs = 24 * 60 * 60 * 1000;

async function accountId(): Promise<string> {
  const { organization } = service;
  const where = { organizationId: organization.id, environment: 'test', processor: 'stripe' } as const;
  return (await service.deps.db.processorAccount.findFirstOrThrow({ where })).id;
}

async function storeEvents(count: number, receivedAt: Date): Promise<void> {
  const account = await accountId();
  await service.deps.db.processorEvent.createMany({
    data: Array.from({ length: count }, () => {
      return { accountId: account, externalEventId: randomUUID(), type: 'refund.updated', receivedAt };
    }),
  });
}

test('deletes events after 30 days, however many there are, and no sooner', async () => {
  const now = Date.now();
  await storeEvents(2_500, new Date(now - 30 * dayMs - 60_000));
  await storeEvents(3, new Date(now - 30 * dayMs + 60_000));
  await expireProcessorEvents(service.deps);
  expect(await service.deps.db.processorEvent.count()).toBe(3);
});

test('runs in a worker soon after its start', async () => {
  await storeEvents(1, new Date(Date.now() - 40 * dayMs));
  const db = service.deps.db;
  const old = { receivedAt: { lt: new Date(Date.now() - 31 * dayMs) } };
  expect(await db.processorEvent.count({ where: old })).toBe(1);
  const worker = service.startWorker();
  await waitFor(
    'the old event to be gone',
    async () => (await db.processorEvent.count({ where: old })) === 0,
  );
  await worker.close();
});

test('reads the refund again for a Braintree notification that is repeated after its event was deleted', async () => {
  await service.sandbox.settings({ autoSettleMs: 0 });
  const transactionId = await newPayment(service, { processor: 'braintree' });
  const { body } = await service.call('POST', '/v1/refunds', {
    body: { transactionId, amount: 100, reason: 'other' },
  });
  const refund = await untilStatus(service, body.data.id, 'completed');
  const webhook = webhookAbout('braintree', { ...reportOf(refund), processorStatus: 'settling' });
  const readings = watchReadings(service);
  await webhooks.send('braintree', webhook);
  await untilReviewed(service, refund.id);
  const before = await rowOf(service, refund.id);
  await service.deps.db.processorEvent.deleteMany({ where: { refundId: refund.id } });
  expect((await webhooks.send('braintree', webhook)).status).toBe(200);
  await untilReviewed(service, refund.id);
  expect(await rowOf(service, refund.id)).toEqual(before);
  expect(readings.countOf(refund.externalRefundId)).toBe(2);
});
