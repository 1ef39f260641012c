import { afterEach, expect, test } from 'vitest';
import { refundsOfView } from '#shared/refunds/requests/view-payment.ts';
import { newPayment, storedPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

// GET /v1/payments/:transactionId

const service = useService();
afterEach(() => service.sandbox.clearFaults());

const view = async (id: string, options: { key?: string } = {}) =>
  await service.call('GET', `/v1/payments/${encodeURIComponent(id)}`, options);
const create = async (transactionId: string, amount: number) =>
  (await service.call('POST', '/v1/refunds', { body: { transactionId, amount, reason: 'other' } })).body.data;
const countPayments = async () => await service.deps.db.payment.count();
const failReads = async () =>
  await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });

test('shows a payment by any of its ids with its refunds and what is left', async () => {
  const charge = await newPayment(service);
  const intent = charge.replace('ch_', 'pi_');
  await refundDirectly(service, { processor: 'stripe', transactionId: charge, amount: 500 });
  const completed = await create(charge, 1_000);
  await untilStatus(service, completed.id, 'completed');
  await service.sandbox.settings({ autoSettleMs: null });
  const open = await create(intent, 2_000);
  const { body } = await view(intent);
  expect(body.data).toMatchObject({
    ...{ processor: 'stripe', transactionId: intent, ids: [charge, intent] },
    ...{ amount: 10_000, currency: 'usd', refundedOutside: 500, refunded: 1_000, reserved: 3_000 },
    ...{ remaining: 6_500, unrefundable: null, hasMore: false },
    refunds: [
      { id: open.id, status: 'processing' },
      { id: completed.id, status: 'completed' },
    ],
  });
  expect(Object.keys(body.data.refunds[0])).toHaveLength(13);
  expect((await view(charge)).body.data).toEqual({ ...body.data, transactionId: charge });
});

test('shows a payment that is not on record, and does not store it', async () => {
  const transactionId = await newPayment(service, { processor: 'braintree' });
  const before = await countPayments();
  const { body } = await view(transactionId);
  expect(body.data).toMatchObject({ processor: 'braintree', remaining: 10_000, refunds: [] });
  expect(await countPayments()).toBe(before);
});

test('shows by another id what is reserved of a payment on record', async () => {
  const charge = await newPayment(service);
  const { id } = await create(charge, 4_000);
  const intent = charge.replace('ch_', 'pi_');
  await service.deps.db.paymentName.updateMany({
    where: { name: intent },
    data: { name: `${intent}_other` },
  });
  expect((await view(intent)).body.data).toMatchObject({ remaining: 6_000, refunds: [{ id }] });
});

test('shows why a payment cannot be refunded, and that nothing is left', async () => {
  const { body } = await view(await newPayment(service, { status: 'disputed' }));
  expect(body.data).toMatchObject({
    amount: 10_000,
    remaining: 0,
    unrefundable: { code: expect.any(String) },
  });
});

test('answers 404 for an id that no processor knows', async () => {
  const { status, body } = await view('ch_missing');
  expect([status, body.error.code]).toEqual([404, 'not_found']);
});

test('shows nothing of another organization or environment, whose accounts may have the same payment', async () => {
  const transactionId = await newPayment(service);
  await create(transactionId, 1_000);
  const other = await service.addOrganization('Other');
  for (const { plaintext: key } of [service.organization.keys.live, other.keys.test]) {
    const { body } = await view(transactionId, { key });
    expect(body.data).toMatchObject({ reserved: 0, refunded: 0, refunds: [], hasMore: false });
  }
});

test('while the processor is down shows what is on record, with its age, and refuses what is not', async () => {
  const transactionId = await newPayment(service);
  const { id } = await create(transactionId, 1_000);
  const { id: paymentId } = await storedPayment(service, transactionId);
  const fetchedAt = new Date(Date.now() - 3_600_000);
  await service.deps.db.payment.update({ where: { id: paymentId }, data: { fetchedAt } });
  await failReads();
  const { body } = await view(transactionId);
  expect(body.data).toMatchObject({ remaining: 9_000, refunds: [{ id }] });
  expect(body.data.fetchedAt).toBe(fetchedAt.toISOString());
  const check = { body: { transactionId: await newPayment(service) } };
  const { status, body: refused } = await view(check.body.transactionId);
  const asChecked = await service.call('POST', '/v1/policies/check', check);
  expect([status, refused]).toEqual([asChecked.status, asChecked.body]);
  expect(refused.error.code).toBe('service_unavailable');
  await create(check.body.transactionId, 1_000);
  const { body: unread } = await view(check.body.transactionId);
  expect(unread.error.code).toBe('service_unavailable');
  expect(unread.error.message).toMatch(/is on record, but its amount is not known yet.*transactionId=/);
});

test('shows the newest refunds of a payment that has more than fit', async () => {
  const transactionId = await newPayment(service);
  const { id } = await create(transactionId, 1_000);
  const {
    id: _id,
    metadata: _metadata,
    arrival: _arrival,
    options: _options,
    idempotencyKey: _key,
    fingerprint: _fingerprint,
    isLive: _isLive,
    ...row
  } = await service.deps.db.refund.findUniqueOrThrow({ where: { id } });
  const ended = { ...row, status: 'cancelled' as const, externalRefundId: null };
  const older = Array.from({ length: refundsOfView }, (_, number) => ({
    ...ended,
    id: `ref_old${number}`,
    createdAt: new Date(row.createdAt.getTime() - 1 - number),
  }));
  await service.deps.db.refund.createMany({ data: older });
  const { body } = await view(transactionId);
  expect([body.data.hasMore, body.data.refunds.length, body.data.refunds[0].id]).toEqual([
    true,
    refundsOfView,
    id,
  ]);
});
