import { afterEach, beforeAll, expect, test } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { sentForm } from '../../support/dashboard/sent-form.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let base: string;

beforeAll(() => {
  base = `/dashboard/${service.organization.id}/test`;
});
afterEach(() => service.sandbox.clearFaults());

async function pageFor(role: 'viewer' | 'operator', path: string) {
  return await (await signInMember(service, role)).visitor.get(`${base}${path}`);
}

const unreachable = (processor: string) =>
  service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });

test('shows a payment without a refund, to which the search leads, and to operators alone the form that leads to the review', async () => {
  const id = await newPayment(service);
  expect((await pageFor('viewer', `/search?q=${id}`)).text).toContain(`${base}/payments/${id}"`);
  const viewed = await pageFor('viewer', `/payments/${id}`);
  expect(viewed.text).toContain('Payment of 100.00 USD');
  expect(viewed.text).toContain('No refunds created here yet.');
  expect(viewed.text).not.toContain('method="post"');
  const { visitor } = await signInMember(service, 'operator');
  const form = sentForm((await visitor.get(`${base}/payments/${id}`)).text, /refunds\/new/);
  expect(Object.fromEntries(form)).toMatchObject({ transactionId: id, amount: '100.00', reason: '' });
  const reviewed = await visitor.post(`${base}/refunds/new`, [
    ...form.filter(([name]) => name !== 'reason'),
    ['reason', 'other'],
  ]);
  expect(reviewed.text).toContain('Review refund');
  expect((await pageFor('operator', '/payments/ch_missing1')).status).toBe(404);
});

test.each(['stripe', 'braintree'])(
  'shows a payment at an unreachable %s as it was read, and never as not found',
  async (processor) => {
    const { transactionId, paymentId } = await createdRefund(service, processor);
    const unknown = await newPayment(service, { processor });
    const fetchedAt = new Date(Date.now() - 3_600_000);
    await service.deps.db.payment.update({ where: { id: paymentId }, data: { fetchedAt } });
    await unreachable(processor);
    const { status, text } = await pageFor('operator', `/payments/${transactionId}`);
    expect(status).toBe(200);
    expect(text).toContain('75.00 USD');
    expect(text).toMatch(new RegExp(`as of.*datetime="${fetchedAt.toISOString()}"`, 'is'));
    const nothing = await pageFor('operator', `/payments/${unknown}`);
    expect(nothing.status).toBe(503);
    expect(nothing.text).toContain('No record of this payment');
    expect(nothing.text).not.toMatch(/not found/i);
    await createdRefund(service, processor, { transactionId: unknown });
    const unread = await pageFor('operator', `/payments/${unknown}`);
    expect(unread.status).toBe(503);
    expect(unread.text).toContain('Amount not known yet');
    expect(unread.text).toContain(`href="${base}/refunds?q=${unknown}"`);
  },
);

test('the form keeps order and customer of earlier refunds of the payment', async () => {
  const transactionId = await newPayment(service);
  for (const metadata of [{ order_id: 'SO-7', note: 'x' }, { customer: 'cus_7' }]) {
    const body = { transactionId, amount: 100, reason: 'other', metadata };
    await service.call('POST', '/v1/refunds', { body, headers: { prefer: 'respond-async' } });
  }
  const { text } = await pageFor('operator', `/payments/${transactionId}`);
  for (const [label, value] of [
    ['Order', 'SO-7'],
    ['Customer', 'cus_7'],
  ])
    expect(text).toMatch(new RegExp(`${label}</label><input[^>]* value="${value}"`));
  const form = new Map(sentForm(text, /refunds\/new/));
  expect(JSON.parse(form.get('metadata') ?? '')).toEqual({ order_id: 'SO-7', customer: 'cus_7' });
});

test('what may have moved is not shown as refundable until the payment was read after it', async () => {
  const { db } = service.deps;
  const { id, paymentId } = await createdRefund(service, 'stripe');
  await db.refund.update({ where: { id }, data: { status: 'failed', failureCode: 'declined' } });
  const flaggedAt = new Date();
  await db.refundWork.update({ where: { refundId: id }, data: { flaggedAt, flagReason: 'moved_after_end' } });
  const shown = async (fetchedAt: Date | null) => {
    await db.payment.update({ where: { id: paymentId }, data: { fetchedAt } });
    const [, words = ''] =
      /Still refundable(.*?)<\/dd>/s.exec((await pageFor('viewer', `/refunds/${id}`)).text) ?? [];
    return words.replaceAll(/<[^>]*>/g, '');
  };
  expect(await shown(null)).toMatch(/^75\.00 USD without 25\.00 USD that may have moved; /);
  expect(await shown(new Date(flaggedAt.getTime() + 1_000))).toMatch(/^100\.00 USD refunds elsewhere/);
});
