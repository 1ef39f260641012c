import { afterEach, beforeEach, expect, test } from 'vitest';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { leftToRefund } from '../../support/processors/reconciliation.ts';
import { signStripe, stripeEvent, webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { completedRefund } from '../../support/refunds/flagged-refunds.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const webhooks = useWebhooks(service);

beforeEach(() => service.sandbox.settings({ autoSettleMs: null }));
afterEach(() => service.sandbox.clearFaults());

/** A payment with a refund of 25.00 USD by one of its ids. */
async function refundedPayment(named: 'charge' | 'intent') {
  const charge = await newPayment(service);
  const ids = { charge, intent: `pi_${charge.slice(3)}` };
  await newRefund(service, { transactionId: ids[named], amount: 2_500 });
  const isStale = async () => {
    const where = { names: { some: { name: { in: Object.values(ids) } } } };
    const payments = await service.deps.db.payment.findMany({ where });
    expect(payments).toMatchObject([{ reserved: 2_500n }]);
    return payments[0]?.fetchedAt === null;
  };
  expect(await isStale()).toBe(false);
  return { ids, isStale };
}

async function report(type: string, object: object): Promise<void> {
  const reported = { externalRefundId: 're_x', refundId: null, transactionId: 'ch_x' };
  const webhook = signStripe(JSON.stringify(stripeEvent(reported, { type, data: { object } })));
  expect(await webhooks.send('stripe', webhook)).toMatchObject({ status: 200 });
}

const both = ['charge', 'intent'] as const;

test.each(both.flatMap((named) => both.map((reported) => [named, reported] as const)))(
  'a refund made elsewhere of a payment that was named by its %s, reported by its %s',
  async (named, reported) => {
    const { ids, isStale } = await refundedPayment(named);
    const payment = reported === 'charge' ? { charge: ids.charge } : { payment_intent: ids.intent };
    await report('refund.updated', { id: 're_elsewhere', object: 'refund', status: 'succeeded', ...payment });
    expect(await isStale()).toBe(true);
  },
);

test.each(both.flatMap((named) => [2_500, 2_501].map((amount) => [named, amount] as const)))(
  'a total refunded of a payment that was named by its %s, against what is on record: %i',
  async (named, amount) => {
    const { ids, isStale } = await refundedPayment(named);
    const charge = { id: ids.charge, object: 'charge', currency: 'usd', amount_refunded: amount };
    await report('charge.refunded', { ...charge, payment_intent: ids.intent });
    expect(await isStale()).toBe(amount > 2_500);
  },
);

test.each(PROCESSORS)(
  'a refund made elsewhere at %s under the id of ours leaves ours as it is, and counts',
  async (processor) => {
    const refund = await completedRefund(service, processor);
    const { id, transactionId, externalRefundId } = refund;
    expect(await leftToRefund(service, transactionId)).toBe(7_500);
    const copyId = await refundDirectly(service, { processor, transactionId, amount: 100, refundId: id });
    const reported = { externalRefundId: copyId, refundId: id, transactionId };
    expect((await webhooks.send(processor, webhookAbout(processor, reported))).status).toBe(200);
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'completed', externalRefundId, work: null });
    expect(await leftToRefund(service, transactionId)).toBe(7_400);
  },
);
