import { afterEach, beforeEach, expect, test } from 'vitest';
import { setRefundDefaults } from '#shared/processors/accounts/account-settings.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { lastEventOf, makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const seller = 'acct_seller1';
const place = () =>
  ({
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
    actor: 'test',
  }) as const;

beforeEach(() => service.sandbox.settings({ autoSettleMs: 0 }));
afterEach(async () => {
  await service.sandbox.clearFaults();
  await service.sandbox.account(seller, { balance: null });
  await setRefundDefaults(service.deps, { ...place(), transfers: 'keep', applicationFees: 'keep' });
});

/** A destination charge of 100.00 USD with a fee of 10.00 USD. */
const destinationCharge = () =>
  service.sandbox.transaction({
    processor: 'stripe',
    amount: 10_000,
    currency: 'usd',
    transferTo: seller,
    applicationFee: 1_000,
  });

const movedOf = (transactionId: string) => service.sandbox.refunds({ processor: 'stripe', transactionId });
const both = { reverseTransfer: true, refundApplicationFee: true };

test('a refund of a part takes back its part of the transfer and the fee', async () => {
  const transactionId = await destinationCharge();
  const { id } = await newRefund(service, { transactionId, amount: 2_500, options: both });
  await advanceRefund(service.deps, id);
  expect(await movedOf(transactionId)).toMatchObject([
    { amount: 2_500, transferReversed: 2_500, applicationFeeRefunded: 250 },
  ]);
  const { body } = await service.call('GET', `/v1/refunds/${id}?include=options`);
  expect(body.data.options).toEqual(both);
});

test('without options the platform pays, and the answer says that nothing goes with it', async () => {
  const transactionId = await destinationCharge();
  const { id } = await newRefund(service, { transactionId });
  await advanceRefund(service.deps, id);
  expect(await movedOf(transactionId)).toMatchObject([{ transferReversed: 0, applicationFeeRefunded: 0 }]);
  const { body } = await service.call('GET', `/v1/refunds/${id}?include=options`);
  expect(body.data.options).toBeNull();
});

test('every attempt sends the same options, although the defaults of the account change meanwhile', async () => {
  const transactionId = await destinationCharge();
  await setRefundDefaults(service.deps, { ...place(), transfers: 'reverse', applicationFees: 'refund' });
  const { id } = await newRefund(service, { transactionId });
  const error = { status: 429, code: 'lock_timeout' };
  await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error', error });
  await advanceRefund(service.deps, id);
  await setRefundDefaults(service.deps, { ...place(), transfers: 'keep', applicationFees: 'keep' });
  for (let step = 0; step < 3; step += 1) {
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
  }
  expect(await movedOf(transactionId)).toMatchObject([
    { transferReversed: 1_000, applicationFeeRefunded: 100 },
  ]);
});

test('the defaults of the account are for what a payment has, and a request that says otherwise comes first', async () => {
  await setRefundDefaults(service.deps, { ...place(), transfers: 'reverse', applicationFees: 'refund' });
  const plain = await newRefund(service, { transactionId: await newPayment(service) });
  expect((await rowOf(service, plain.id)).options).toBeNull();
  const kept = await newRefund(service, {
    transactionId: await destinationCharge(),
    options: { reverseTransfer: false },
  });
  expect((await rowOf(service, kept.id)).options).toEqual({ reverseTransfer: false });
});

test.each([
  ['a payment without a transfer', 'stripe', { reverseTransfer: true }, 'options.reverseTransfer: '],
  ['a payment without a fee', 'stripe', { refundApplicationFee: true }, 'options.refundApplicationFee: '],
  [
    'a processor without the option',
    'braintree',
    { instructionsEmail: 'a@example.com' },
    'options.instructionsEmail: ',
  ],
])('an option that %s does not have is refused by its name', async (_what, processor, options, beginning) => {
  const { status, body } = await askForRefund(service, { processor, options });
  expect([status, body.error.code]).toEqual([400, 'validation_error']);
  expect(body.error.message).toContain(beginning);
});

test('the same key with other options is another request', async () => {
  const transactionId = await destinationCharge();
  const headers = { 'idempotency-key': 'with-options' };
  const asked = { transactionId, options: both };
  const { id } = await newRefund(service, asked, { headers });
  expect((await newRefund(service, asked, { headers })).id).toBe(id);
  const { status, body } = await askForRefund(service, { transactionId }, { headers });
  expect([status, body.error.code]).toEqual([422, 'idempotency_key_reused']);
});

test('options are not taken on trust while the payment cannot be read', async () => {
  const transactionId = await destinationCharge();
  await service.sandbox.fault({
    processor: 'stripe',
    operation: 'transaction.get',
    kind: 'error-503',
    times: null,
  });
  const { status } = await askForRefund(service, { transactionId, options: both });
  expect(status).toBe(503);
  expect((await askForRefund(service, { transactionId })).status).toBe(200);
});

test('options are not taken on trust while it is not known what the payment has', async () => {
  const transactionId = await destinationCharge();
  await newRefund(service, { transactionId });
  await service.deps.db.payment.updateMany({ data: { hasTransfer: null, hasApplicationFee: null } });
  const { status, headers } = await askForRefund(service, { transactionId, options: both });
  expect([status, headers['retry-after']]).toEqual([503, '5']);
  expect((await askForRefund(service, { transactionId })).status).toBe(200);
});

test('a refund waits while the balance of the connected account is too low, and goes on by itself', async () => {
  const transactionId = await destinationCharge();
  await service.sandbox.account(seller, { balance: 0 });
  const { id } = await newRefund(service, { transactionId, options: { reverseTransfer: true } });
  await advanceRefund(service.deps, id);
  expect(await rowOf(service, id)).toMatchObject({ status: 'processing', externalRefundId: null });
  await service.sandbox.account(seller, { balance: 10_000 });
  for (let step = 0; step < 3; step += 1) {
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
  }
  expect(await movedOf(transactionId)).toMatchObject([{ transferReversed: 1_000 }]);
});

test('the timeline says what goes with a refund, without the address of the customer', async () => {
  const transactionId = await newPayment(service);
  const options = { instructionsEmail: 'ada@example.com' };
  const { id } = await newRefund(service, { transactionId, options });
  const created = await lastEventOf(service, { id });
  expect(created.detail).toMatchObject({ options: { instructionsEmail: true } });
  expect((await rowOf(service, id)).options).toEqual(options);
});

test('a payment says whether it has a transfer and a fee', async () => {
  const view = async (id: string) => (await service.call('GET', `/v1/payments/${id}`)).body.data;
  expect(await view(await destinationCharge())).toMatchObject({ hasTransfer: true, hasApplicationFee: true });
  expect(await view(await newPayment(service))).toMatchObject({
    hasTransfer: false,
    hasApplicationFee: false,
  });
});
