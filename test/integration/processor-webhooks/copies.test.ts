import { beforeEach, describe, expect, test } from 'vitest';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { leftToRefund } from '../../support/processors/reconciliation.ts';
import { webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { completedRefund, createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const received = { status: 200, body: { data: { received: true } } };

const service = useService({ workers: 0 });
const webhooks = useWebhooks(service);

beforeEach(() => service.sandbox.settings({ autoSettleMs: null }));

describe.each(PROCESSORS)('a refund that was made elsewhere at %s', (processor) => {
  test('with the id of ours is recognized and counts as made elsewhere', async () => {
    const refund = await completedRefund(service, processor);
    const { id, transactionId, externalRefundId } = refund;
    expect(await leftToRefund(service, transactionId)).toBe(7_500);
    const copyId = await refundDirectly(service, { processor, transactionId, amount: 100, refundId: id });
    const reported = { externalRefundId: copyId, refundId: id, transactionId };
    expect(await webhooks.send(processor, webhookAbout(processor, reported))).toMatchObject(received);
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({
      status: 'completed',
      externalRefundId,
      work: null,
    });
    expect(await leftToRefund(service, transactionId)).toBe(7_400);
  });

  test('with the id of one that awaits approval counts as made elsewhere', async () => {
    await storePolicies(service, { approvalAbove: { api: 0 } });
    const { id, status, transactionId } = await createdRefund(service, processor);
    await storePolicies(service, {});
    expect(status).toBe('pending');
    expect(await leftToRefund(service, transactionId)).toBe(7_500);
    const copyId = await refundDirectly(service, { processor, transactionId, amount: 2_500, refundId: id });
    const reported = { externalRefundId: copyId, refundId: id, transactionId };
    expect(await webhooks.send(processor, webhookAbout(processor, reported))).toMatchObject(received);
    expect(await leftToRefund(service, transactionId)).toBe(5_000);
    expect(await rowOf(service, id)).toMatchObject({ status: 'pending', externalRefundId: null });
  });
});
