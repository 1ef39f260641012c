import { expect, test } from 'vitest';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

test.each([
  ['a checkout session', { checkoutSession: 'cs_test_1' }, 'cs_test_1'],
  ['an invoice', { invoice: 'in_1' }, 'in_1'],
])('a refund by the id of %s is one of its charge, and the id is remembered', async (_what, fields, name) => {
  const charge = await newPayment(service, fields);
  const { id, transactionId } = await newRefund(service, { transactionId: name });
  expect(transactionId).toBe(name);
  await advanceRefund(service.deps, id);
  const { paymentId, externalRefundId } = await rowOf(service, id);
  expect(await service.sandbox.refunds({ transactionId: charge })).toMatchObject([
    { id: externalRefundId, key: id },
  ]);
  const byCharge = await newRefund(service, { transactionId: charge });
  expect((await rowOf(service, byCharge.id)).paymentId).toBe(paymentId);
  const { body } = await service.call('GET', `/v1/payments/${name}`);
  expect(body.data.ids).toEqual(expect.arrayContaining([name, charge]));
});

test('an id that stands for several payments is refused, and the error lists them', async () => {
  const parts = [
    await newPayment(service, { invoice: 'in_parts' }),
    await newPayment(service, { invoice: 'in_parts' }),
  ];
  const answers = await Promise.all([
    askForRefund(service, { transactionId: 'in_parts' }),
    service.call('GET', '/v1/payments/in_parts'),
    service.call('POST', '/v1/policies/check', { body: { transactionId: 'in_parts' } }),
  ]);
  for (const { status, body } of answers) {
    expect([status, body.error.code]).toEqual([400, 'validation_error']);
    expect(body.error.message).toMatch(/^transactionId: /);
    for (const id of parts) expect(body.error.message).toContain(id.slice(3));
  }
});

test.each([
  ['stripe', { invoice: 'in_later_parts' }, 'in_later_parts'],
  ['braintree', { orderId: '#1018' }, '#1018'],
])(
  'a refund at %s is sent to, and found at, the payment that its id stood for, although the id now stands for several',
  async (processor, fields, name) => {
    const payment = await newPayment(service, { processor, ...fields });
    const { id } = await newRefund(service, { processor, transactionId: name });
    await newPayment(service, { processor, ...fields });
    await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'reset-after-apply' });
    await advanceRefund(service.deps, id);
    expect((await rowOf(service, id)).externalRefundId).toBeNull();
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
    const { externalRefundId } = await rowOf(service, id);
    expect(await service.sandbox.refunds({ processor, transactionId: payment })).toMatchObject([
      { id: externalRefundId },
    ]);
  },
);

test('a refund by the order id of a Braintree sale is one of that sale', async () => {
  const sale = await newPayment(service, { processor: 'braintree', orderId: '#1017' });
  const { id } = await newRefund(service, { processor: 'braintree', transactionId: '#1017' });
  await advanceRefund(service.deps, id);
  const { externalRefundId } = await rowOf(service, id);
  expect(await service.sandbox.refunds({ processor: 'braintree', transactionId: sale })).toMatchObject([
    { id: externalRefundId },
  ]);
});
