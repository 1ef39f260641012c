import { expect, test } from 'vitest';
import { leftToRefund, reconcile } from '../../support/processors/reconciliation.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

test.each(['charge', 'intent'])(
  'reports a refund made elsewhere once, by an id of the payment, whichever was used first: its %s',
  async (first) => {
    const charge = await newPayment(service);
    const ids = [charge, `pi_${charge.slice(3)}`];
    if (first === 'intent') ids.reverse();
    for (const id of ids) expect(await leftToRefund(service, id)).toBe(10_000);
    const made = { processor: 'stripe', transactionId: charge, amount: 4_000 } as const;
    const externalRefundId = await refundDirectly(service, made);
    const { findings } = await reconcile(service, 'stripe');
    expect(findings.filter((finding) => finding.externalRefundId === externalRefundId)).toMatchObject([
      { kind: 'made_elsewhere', action: 'payment_read', transactionId: expect.toBeOneOf(ids) },
    ]);
    for (const id of ids) expect(await leftToRefund(service, id)).toBe(6_000);
  },
);
