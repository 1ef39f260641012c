import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { setProcessorAccount } from '../../../../shared/processors/accounts/manage-accounts.ts';
import { requestResync } from '../../../../shared/refunds/lifecycle/work.ts';
import { flagOf } from '../../../../shared/refunds/model/flags.ts';
import { PROCESSORS, type Processor } from '../../../sandbox/ledger/ledger.ts';
import { expectInvariants } from '../../../support/refunds/invariants.ts';
import { newPayment } from '../../../support/refunds/payments.ts';
import { refundDirectly } from '../../../support/refunds/refund-directly.ts';
import { rowOf, timelineOf, untilStatus } from '../../../support/refunds/refund-records.ts';
import { leaseByHand, untilReviewed } from '../../../support/refunds/refund-work.ts';
import { sandboxCredentials, type TestService } from '../../../support/service.ts';
import { useService } from '../../../support/use-service.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { watchReadings } from '../../../support/watched-readings.ts';

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
async function askForReview({ deps }: TestService, id: string): Promise<void> {
  await requestResync(deps.db, { id });
}

async function reservedFor(transactionId: string): Promise<bigint> {
  const { reserved } = await service.deps.db.payment.findFirstOrThrow({
    where: { names: { some: { name: transactionId } } },
  });
  return reserved;
}

const driven = {
  stripe: { gone: 'failed', reason: 'expired_or_canceled_card' },
  braintree: { gone: 'settlement_declined', reason: 'settlement_declined' },
} as const;

describe.each(['stripe', 'braintree'] as const)('a completed refund at %s', (processor) => {
  test('becomes failed when its money came back, and gives its reservation back', async () => {
    const refund = await completedRefund(processor);
    expect(await reservedFor(refund.transactionId)).toBe(2_500n);
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', {
      status: driven[processor].gone,
      ...(processor === 'stripe' ? { failureReason: driven.stripe.reason } : {}),
    });
    await askForReview(service, refund.id);
    await untilStatus(service, refund.id, 'failed');
    expect(await untilReviewed(service, refund.id)).toMatchObject({
      failureCode: driven[processor].reason,
      work: null,
    });
    expect(await reservedFor(refund.transactionId)).toBe(0n);
    const [last] = await service.deps.db.refundEvent.findMany({
      where: { refundId: refund.id },
      orderBy: { seq: 'desc' },
      take: 1,
    });
    expect(last).toMatchObject({ type: 'refund.failed', previousStatus: 'completed', status: 'failed' });
    await expectInvariants(service);
  });

  test('stays unchanged when the processor agrees, without an event', async () => {
    const refund = await completedRefund(processor);
    const before = await timelineOf(service, refund.id);
    await askForReview(service, refund.id);
    const after = await untilReviewed(service, refund.id);
    expect(after).toMatchObject({ status: 'completed', flaggedAt: null });
    expect(after.updatedAt).toEqual(refund.updatedAt);
    expect(await timelineOf(service, refund.id)).toEqual(before);
  });

  test('is read again later when the processor cannot be read', async () => {
    const refund = await completedRefund(processor);
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: driven[processor].gone });
    await service.sandbox.fault({ processor, operation: 'refund.get', kind: 'error-503' });
    await askForReview(service, refund.id);
    await untilStatus(service, refund.id, 'failed');
  });

  test('is read by the next worker when one died before it could read', async () => {
    const refund = await completedRefund(processor);
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: driven[processor].gone });
    await leaseByHand(service, refund.id, 1_000);
    expect((await rowOf(service, refund.id)).status).toBe('completed');
    await untilStatus(service, refund.id, 'failed');
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
  await askForReview(service, refund.id);
  await waitFor('the review to be put off', async () => {
    const { dueAt } = await rowOf(service, refund.id);
    return dueAt !== null && dueAt > new Date(Date.now() + 60_000);
  });
  await set(stripe);
  await untilStatus(service, refund.id, 'failed');
});

test.each(['stripe', 'braintree'])(
  'ends the review of a refund that failed because %s does not have its payment',
  async (processor) => {
    const transactionId = processor === 'stripe' ? 'ch_missing' : 'missing';
    await service.sandbox.fault({ processor, operation: 'transaction.get', kind: 'error-503' });
    await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 2_500, reason: 'other', processor, currency: 'usd' },
    });
    const { id } = await service.deps.db.refund.findFirstOrThrow({ where: { transactionId } });
    await untilStatus(service, id, 'failed');
    await askForReview(service, id);
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
  await askForReview(service, refund.id);
  await waitFor('a worker to read it', () => readings.countOf(refund.externalRefundId) > 0);
  await askForReview(service, refund.id);
  await untilReviewed(service, refund.id);
  expect(readings.countOf(refund.externalRefundId)).toBe(2);
});

describe('a refund that was applied after its attempt was given up', () => {
  // Its next attempt is far away, so only a resync can bring a worker to it.
  const patient = useService({ settings: { RETRY_BASE_MS: 600_000, RETRY_CAP_MS: 600_000 } });

  /** One whose attempt was turned down for now, and that is at the processor all the same. */
  async function carriedOutLate(processor: Processor, restMs = 0) {
    const transactionId = await newPayment(patient, { processor });
    await patient.sandbox.fault({ processor, operation: 'refund.create', kind: 'rate-limit' });
    const { body } = await patient.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 2_500, reason: 'other' },
      headers: { prefer: 'respond-async' },
    });
    const { id } = body.data;
    await waitFor('the attempt to be refused', async () =>
      (await timelineOf(patient, id)).includes('attempt.unavailable'),
    );
    const throttledUntil = new Date(Date.now() + restMs);
    await patient.deps.db.processorAccount.updateMany({ data: { throttledUntil } });
    await refundDirectly(patient, { processor, transactionId, amount: 2_500, refundId: id });
    return { id, transactionId };
  }

  test.each(PROCESSORS)('is found at %s before it could be sent again', async (processor) => {
    const { id, transactionId } = await carriedOutLate(processor);
    await askForReview(patient, id);
    await untilStatus(patient, id, 'completed');
    expect(await timelineOf(patient, id)).toContain('lookup.found');
    expect(await patient.sandbox.refunds({ transactionId })).toHaveLength(1);
  });

  test.each(PROCESSORS)('is found at %s also when its account is throttled at first', async (processor) => {
    const { id, transactionId } = await carriedOutLate(processor, 1_500);
    await askForReview(patient, id);
    await untilStatus(patient, id, 'completed');
    expect(await timelineOf(patient, id)).toContain('lookup.found');
    expect(await patient.sandbox.refunds({ transactionId })).toHaveLength(1);
  });

  test.each(PROCESSORS)('is not cancelled at %s without a lookup', async (processor) => {
    const { id, transactionId } = await carriedOutLate(processor);
    await askForReview(patient, id);
    const { status } = await patient.call('POST', `/v1/refunds/${id}/cancel`);
    const [moved] = await patient.sandbox.refunds({ transactionId });
    expect(status).toBe(moved?.status === 'voided' ? 200 : 409);
    await untilStatus(patient, id, moved?.status === 'voided' ? 'cancelled' : 'completed');
    await expectInvariants(patient);
  });
});

test('flags a refund that failed here and moved there, and counts it as refunded outside', async () => {
  const refund = await completedRefund('stripe');
  const externalRefundId = refund.externalRefundId ?? '';
  await service.sandbox.driveRefund(externalRefundId, { status: 'failed' });
  await askForReview(service, refund.id);
  await untilStatus(service, refund.id, 'failed');
  await service.sandbox.driveRefund(externalRefundId, { status: 'succeeded' });
  await askForReview(service, refund.id);
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

test('ignores a resync request for a refund that awaits approval', async () => {
  const { transactionId, paymentId } = await completedRefund('stripe');
  const { id } = await service.deps.db.refund.create({
    data: {
      id: 'ref_pending',
      organizationId: service.organization.id,
      environment: 'test',
      transactionId,
      paymentId,
      amount: 1n,
      currency: 'usd',
      reason: 'other',
      status: 'pending',
      processor: 'stripe',
      initiatedBy: 'mcp',
      requester: 'key:agent',
      createdAt: new Date(),
      updatedAt: new Date(),
    },
  });
  await askForReview(service, id);
  expect((await rowOf(service, id)).work).toBeNull();
});
