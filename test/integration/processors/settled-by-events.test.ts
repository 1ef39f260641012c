import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceTime } from '#shared/platform/database.ts';
import { testConnection } from '#shared/processors/accounts/test-connection.ts';
import type { ProcessorKind } from '#shared/processors/contract/processor.ts';
import { processorKind, processorKinds } from '#shared/processors/registry.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { findDueAccounts } from '#shared/reconciliation/runs.ts';
import { accountOf } from '../../support/processors/reconciliation.ts';
import { signStripe, stripeEvent, webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { makeDue, type RefundRecord, rowOf } from '../../support/refunds/refund-records.ts';
import { replacing } from '../../support/replacing.ts';
import { useService } from '../../support/use-service.ts';

// A processor that can only be settled by verified events: Stripe, as if it neither found, read, listed nor cancelled refunds.
const stripe = processorKind('stripe');
const kinds = processorKinds as Record<string, ProcessorKind<unknown>>;
const isNotOffered = () => {
  throw new Error('The core asks for what the processor does not offer.');
};
const notOffered = { findRefund: isNotOffered, getRefund: isNotOffered, listRefunds: isNotOffered };
beforeAll(() => {
  kinds.stripe = {
    ...stripe,
    capabilities: { findsRefunds: false, readsRefunds: false, listsRefunds: false, keepsMetadata: false },
    mayCancel: () => false,
    connect: (credentials) =>
      replacing(stripe.connect(credentials), { ...notOffered, cancelRefund: isNotOffered }),
  };
});
afterAll(() => {
  kinds.stripe = stripe;
});

const service = useService({
  workers: 0,
  settings: { CREATE_WAIT_MS: 0, FLAG_UNKNOWN_AFTER_MS: 0, RECONCILIATION_INTERVAL_MS: 60_000 },
});
const webhooks = useWebhooks(service);

beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

/** Takes every step that is due, and one that is due later. */
async function work({ id }: RefundRecord): Promise<RefundRecord> {
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
  return await rowOf(service, id);
}

/** An event as the processor sends it. */
const send = (refund: RefundRecord, processorStatus: string) =>
  webhooks.send('stripe', webhookAbout('stripe', { ...reportOf(refund), processorStatus }));

const fault = async (kind: string, { transactionId }: RefundRecord) =>
  await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind, transactionId });

test('a refund is settled by a verified event and by nothing else', async () => {
  const sent = await work(await createdRefund(service, 'stripe'));
  const open = { status: 'processing', processorStatus: 'pending', flaggedAt: null };
  expect(sent).toMatchObject({ ...open, attemptCount: 1 });
  await service.sandbox.driveRefund(sent.externalRefundId ?? '', { status: 'succeeded' });
  // The processor cannot be asked.
  expect(await work(sent)).toMatchObject(open);
  const forged = signStripe(JSON.stringify(stripeEvent(reportOf(sent))), { secret: 'whsec_forged' });
  expect((await webhooks.send('stripe', forged)).status).toBe(400);
  expect(await work(sent)).toMatchObject(open);
  expect((await send(sent, 'succeeded')).status).toBe(200);
  expect(await work(sent)).toMatchObject({ status: 'completed', processorStatus: 'succeeded' });
  // The money came back, and an event of before arrives late.
  await send(sent, 'failed');
  await send(sent, 'pending');
  expect(await work(sent)).toMatchObject({ status: 'failed', failureCode: 'failed' });
  expect(await service.sandbox.refunds({ transactionId: sent.transactionId })).toHaveLength(1);
});

test.each(['reset-after-apply', 'reset', 'error-500'])(
  'an attempt that ends in %s is flagged and never sent again, until an event names it',
  async (kind) => {
    const refund = await createdRefund(service, 'stripe');
    await fault(kind, refund);
    for (let round = 0; round < 6; round += 1) await work(refund);
    expect(await rowOf(service, refund.id)).toMatchObject({
      ...{ status: 'processing', flagReason: 'outcome_unknown', attemptCount: 1 },
    });
    const applied = await service.sandbox.refunds({ transactionId: refund.transactionId });
    expect(applied).toHaveLength(kind === 'reset-after-apply' ? 1 : 0);
    for (const { id: externalRefundId } of applied) {
      await send({ ...refund, externalRefundId }, 'succeeded');
      expect(await work(refund)).toMatchObject({ status: 'completed', externalRefundId, flaggedAt: null });
    }
  },
);

test('a rejection after attempts that were certainly not applied is final', async () => {
  const refund = await createdRefund(service, 'stripe');
  await fault('rate-limit', refund);
  expect(await work(refund)).toMatchObject({ status: 'processing', unknownSince: null, attemptCount: 1 });
  // As if the payment had been refunded elsewhere meanwhile.
  const smaller = { id: refund.transactionId, amount: 100, currency: 'usd' };
  await service.sandbox.transaction({ processor: 'stripe', ...smaller });
  const updatedAt = await serviceTime(service.deps.db);
  await service.deps.db.processorAccount.updateMany({ data: { throttledUntil: null, updatedAt } });
  const failed = { status: 'failed', failureCode: 'amount_too_large', attemptCount: 2 };
  expect(await work(refund)).toMatchObject(failed);
});

test('an account that lists no refunds is tested and never reconciled', async () => {
  const account = await accountOf(service, 'stripe');
  expect(await testConnection(service.deps, { account, actor: 'test' })).toEqual({ kind: 'works' });
  expect((await findDueAccounts(service.deps)).map(({ id }) => id)).not.toContain(account.id);
  const window = { from: new Date(0), to: new Date() };
  const { signal } = new AbortController();
  const run = await reconcileAccount(service.deps, { account, window, actor: 'test', signal });
  expect(run).toMatchObject({ failure: expect.stringContaining('does not list refunds') });
});
