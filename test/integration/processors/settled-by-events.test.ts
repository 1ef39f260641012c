import { beforeAll, expect, test } from 'vitest';
import { serviceTime } from '#shared/platform/database.ts';
import { loadAccount } from '#shared/processors/accounts/connections.ts';
import { testConnection } from '#shared/processors/accounts/test-connection.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { findDueAccounts } from '#shared/reconciliation/runs.ts';
import { eventpay } from '../../sandbox/eventpay/processor.ts';
import { useEventpay } from '../../support/processors/eventpay/use-eventpay.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

// A processor that can only be settled by verified events: it neither finds, reads, lists nor cancels refunds.
useEventpay();
const service = useService({
  workers: 0,
  processors: [eventpay],
  settings: { CREATE_WAIT_MS: 0, FLAG_UNKNOWN_AFTER_MS: 0, RECONCILIATION_INTERVAL_MS: 60_000 },
});

async function createdRefund(): Promise<{ id: string; transactionId: string }> {
  const transactionId = await service.sandbox.transaction({
    processor: 'eventpay',
    amount: 5_000,
    currency: 'usd',
  });
  const body = { transactionId, amount: 1_500, reason: 'other' };
  const { status, body: created } = await service.call('POST', '/v1/refunds', { body });
  expect(status, JSON.stringify(created)).toBe(200);
  return { id: created.data.id, transactionId };
}

const account = () =>
  loadAccount(service.deps.db, {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'eventpay',
  });

/** Takes every step that is due, and one that is due later. */
async function work(id: string) {
  await service.deps.db.refundWork.updateMany({ where: { refundId: id }, data: { dueAt: new Date(0) } });
  await advanceRefund(service.deps, id);
  return await rowOf(service, id);
}

/** An event as the processor sends it, with the account's signature or another one. */
async function send(
  refund: { id: string; status: string; reference: string; payment: string },
  secret?: string,
) {
  const event = { id: `epe_${refund.id}_${refund.status}`, at: new Date(), environment: 'test', refund };
  const keys = { secret: secret ?? eventpay.credentials('test').secret };
  const { body: payload, headers } = eventpay.webhooks.signed(JSON.stringify(event), keys);
  const { id } = await account();
  return await service.app.inject({ method: 'POST', url: `/webhooks/eventpay/${id}`, payload, headers });
}

beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

test('a refund is settled by a verified event and by nothing else', async () => {
  const { id, transactionId } = await createdRefund();
  const sent = await work(id);
  expect(sent).toMatchObject({ status: 'processing', processorStatus: 'pending', attemptCount: 1 });
  const externalRefundId = sent.externalRefundId ?? '';
  await service.sandbox.driveRefund(externalRefundId, { status: 'paid_out' });
  // The processor cannot be asked.
  expect(await work(id)).toMatchObject({ status: 'processing', processorStatus: 'pending', flaggedAt: null });
  const refund = { id: externalRefundId, status: 'paid_out', reference: id, payment: transactionId };
  expect((await send(refund, 'forged')).statusCode).toBe(400);
  expect(await work(id)).toMatchObject({ status: 'processing' });
  expect((await send(refund)).statusCode).toBe(200);
  expect(await work(id)).toMatchObject({ status: 'completed', processorStatus: 'paid_out' });
  // The money came back, and an event of before arrives late.
  await send({ ...refund, status: 'bounced' });
  await send({ ...refund, status: 'pending' });
  expect(await work(id)).toMatchObject({ status: 'failed', failureCode: 'bounced' });
  expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
});

test.each(['timeout-after-apply', 'reset', 'error-500'])(
  'an attempt that ends in %s is flagged and never sent again, until an event names it',
  async (kind) => {
    const { id, transactionId } = await createdRefund();
    const fault = { processor: 'eventpay', operation: 'refund.create', kind, delayMs: 2_000 };
    await service.sandbox.fault({ ...fault, transactionId });
    await work(id);
    for (let round = 0; round < 5; round += 1) await work(id);
    const row = await rowOf(service, id);
    expect(row).toMatchObject({ status: 'processing', flagReason: 'outcome_unknown', attemptCount: 1 });
    const applied = await service.sandbox.refunds({ transactionId });
    expect(applied).toHaveLength(kind === 'timeout-after-apply' ? 1 : 0);
    for (const { id: externalRefundId } of applied) {
      await send({ id: externalRefundId, status: 'paid_out', reference: id, payment: transactionId });
      expect(await work(id)).toMatchObject({ status: 'completed', externalRefundId, flaggedAt: null });
    }
  },
);

test('a rejection after attempts that were certainly not applied is final', async () => {
  const { id, transactionId } = await createdRefund();
  await service.sandbox.fault({
    processor: 'eventpay',
    operation: 'refund.create',
    kind: 'rate-limit',
    transactionId,
  });
  expect(await work(id)).toMatchObject({ status: 'processing', unknownSince: null, attemptCount: 1 });
  // As if the payment had been refunded elsewhere meanwhile.
  await service.sandbox.transaction({
    processor: 'eventpay',
    id: transactionId,
    amount: 100,
    currency: 'usd',
  });
  const updatedAt = await serviceTime(service.deps.db);
  await service.deps.db.processorAccount.updateMany({ data: { rateLimits: {}, updatedAt } });
  expect(await work(id)).toMatchObject({
    status: 'failed',
    failureCode: 'amount_too_large',
    attemptCount: 2,
  });
});

test('an account that lists no refunds is tested and never reconciled', async () => {
  const found = await account();
  const test = await testConnection(service.deps, { account: found, actor: 'test' });
  expect(test.verdict).toBe('works');
  expect(await findDueAccounts(service.deps)).toEqual([]);
  const window = { from: new Date(0), to: new Date() };
  const { signal } = new AbortController();
  const run = await reconcileAccount(service.deps, { account: found, window, actor: 'test', signal });
  expect(run).toMatchObject({ failure: expect.stringContaining('does not list refunds') });
});
