import { expect, test } from 'vitest';
import { claimRefund } from '#shared/refunds/lifecycle/claim.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { LOOKUP_SETTLE_DELAY_MS: 0 } });
const webhooks = useWebhooks(service);

test.each(PROCESSORS)(
  'a webhook about a refund at %s whose worker died after sending it has the refund looked up',
  async (processor) => {
    const { id, transactionId } = await createdRefund(service, processor);
    expect(await claimRefund(service.deps, id)).toMatchObject({ step: 'send' });
    const externalRefundId = await refundDirectly(service, {
      ...{ processor, transactionId, amount: 2_500, refundId: id },
    });
    const webhook = webhookAbout(processor, { externalRefundId, refundId: id, transactionId });
    // It waits for the worker, which records nothing any more.
    expect((await webhooks.send(processor, webhook)).status).toBe(200);
    expect(await webhooks.events()).toContainEqual(expect.objectContaining({ refundId: id }));
    expect((await rowOf(service, id)).resyncRequestedAt).not.toBeNull();
    await makeDue(service, id);
    await service.deps.db.refundWork.update({ where: { refundId: id }, data: { leasedUntil: new Date(0) } });
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ externalRefundId, attemptCount: 1 });
    expect(await service.sandbox.refunds({ processor, transactionId })).toHaveLength(1);
  },
);
