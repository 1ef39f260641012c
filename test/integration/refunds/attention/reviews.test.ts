import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { requestResync } from '#shared/refunds/lifecycle/work.ts';
import { flagOf } from '#shared/refunds/model/flags.ts';
import { PROCESSORS, sandboxCredentials } from '#test/sandbox/processors.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newPayment, storedPayment } from '#test/support/refunds/payments.ts';
import { lastEventOf, rowOf, timelineOf, untilStatus } from '#test/support/refunds/refund-records.ts';
import { untilReviewed } from '#test/support/refunds/refund-work.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { watchReadings } from '#test/support/watched-readings.ts';

const service = useService({ settings: { MISCONFIGURED_RETRY_MS: 600_000 } });

beforeEach(async () => {
  await service.sandbox.clearFaults();
  await service.sandbox.settings({ autoSettleMs: 50, latencyMs: 0 });
});
afterEach(async () => {
  await service.sandbox.clearFaults();
  await service.sandbox.settings({ latencyMs: 0 });
});

async function completedRefund(processor: string) {
  const transactionId = await newPayment(service, { processor });
  const { body } = await service.call('POST', '/v1/refunds', {
    body: { transactionId, amount: 2_500, reason: 'other' },
  });
  return await untilStatus(service, body.data.id, 'completed');
}

/** Requests a resync without waking a worker, which has to find it. */
async function askForReview(id: string): Promise<void> {
  await requestResync(service.deps.db, { id });
}

const reservedFor = async (transactionId: string) => (await storedPayment(service, transactionId)).reserved;

const driven = {
  stripe: { gone: 'failed', reason: 'expired_or_canceled_card' },
  braintree: { gone: 'settlement_declined', reason: 'settlement_declined' },
} as const;

describe.each(PROCESSORS)('a completed refund at %s', (processor) => {
  test('becomes failed when its money came back, and gives its reservation back', async () => {
    const refund = await completedRefund(processor);
    expect(await reservedFor(refund.transactionId)).toBe(2_500n);
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', {
      status: driven[processor].gone,
      ...(processor === 'stripe' ? { failureReason: driven.stripe.reason } : {}),
    });
    await askForReview(refund.id);
    await untilStatus(service, refund.id, 'failed');
    expect(await untilReviewed(service, refund.id)).toMatchObject({
      failureCode: driven[processor].reason,
      work: null,
    });
    expect(await reservedFor(refund.transactionId)).toBe(0n);
    const moved = { type: 'refund.failed', previousStatus: 'completed', status: 'failed' };
    expect(await lastEventOf(service, refund)).toMatchObject(moved);
    await expectInvariants(service);
  });

  test('stays unchanged when the processor agrees, without an event', async () => {
    const refund = await completedRefund(processor);
    const before = await timelineOf(service, refund.id);
    await askForReview(refund.id);
    const after = await untilReviewed(service, refund.id);
    expect(after).toMatchObject({ status: 'completed', flaggedAt: null });
    expect(after.updatedAt).toEqual(refund.updatedAt);
    expect(await timelineOf(service, refund.id)).toEqual(before);
  });
});

test('continues a review that waits for credentials as soon as they are replaced', async () => {
  const refund = await completedRefund('stripe');
  await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: 'failed' });
  const key = { organizationId: service.organization.id, environment: 'test', processor: 'stripe' } as const;
  const { stripe } = sandboxCredentials('test', service.sandboxUrl);
  const set = (credentials: unknown) =>
    setProcessorAccount(service.deps, { ...key, credentials, actor: 'test' });
  await set({ ...stripe, secretKey: 'sk_test_invalid' });
  await askForReview(refund.id);
  await waitFor('the review to be put off', async () => {
    const { dueAt } = await rowOf(service, refund.id);
    return dueAt !== null && dueAt > new Date(Date.now() + 60_000);
  });
  await set(stripe);
  await untilStatus(service, refund.id, 'failed');
});

test.each(PROCESSORS)(
  'ends the review of a refund that failed because %s does not have its payment',
  async (processor) => {
    const transactionId = processor === 'stripe' ? 'ch_missing' : 'missing';
    await service.sandbox.fault({ processor, operation: 'transaction.get', kind: 'error-503' });
    await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 2_500, reason: 'other', processor, currency: 'usd' },
    });
    const { id } = await service.deps.db.refund.findFirstOrThrow({ where: { transactionId } });
    await untilStatus(service, id, 'failed');
    await askForReview(id);
    expect(await untilReviewed(service, id)).toMatchObject({
      status: 'failed',
      failureCode: 'transaction_not_found',
      flaggedAt: null,
    });
  },
);

test('reads a refund again when a resync is requested while it is being read', async () => {
  const refund = await completedRefund('stripe');
  const readings = watchReadings(service);
  await service.sandbox.settings({ latencyMs: 400 });
  await askForReview(refund.id);
  await waitFor('a worker to read it', () => readings.countOf(refund.externalRefundId) > 0);
  await askForReview(refund.id);
  await untilReviewed(service, refund.id);
  expect(readings.countOf(refund.externalRefundId)).toBe(2);
});

test('flags a refund that failed here and moved there, and counts it as refunded outside', async () => {
  const refund = await completedRefund('stripe');
  const externalRefundId = refund.externalRefundId ?? '';
  await service.sandbox.driveRefund(externalRefundId, { status: 'failed' });
  await askForReview(refund.id);
  await untilStatus(service, refund.id, 'failed');
  await service.sandbox.driveRefund(externalRefundId, { status: 'succeeded' });
  await askForReview(refund.id);
  await waitFor('the refund to be flagged', async () => (await rowOf(service, refund.id)).flaggedAt !== null);
  const flagged = await rowOf(service, refund.id);
  expect(flagged).toMatchObject({ status: 'failed' });
  expect(flagOf(flagged)).toMatchObject({ reason: 'moved_after_end', facts: { externalRefundId } });
  expect(await timelineOf(service, refund.id)).toContain('review.flagged');
  const { body } = await service.call('POST', '/v1/policies/check', {
    body: { transactionId: refund.transactionId },
  });
  expect(body.data.maxAmount).toBe(7_500);
});
