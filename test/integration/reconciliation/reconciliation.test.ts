import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needsAttention } from '#shared/reconciliation/findings.ts';
import { braintreeClient } from '../../sandbox/clients.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { endAtProcessor } from '../../support/processors/end-at-processor.ts';
import {
  findingsAbout,
  leftToRefund,
  reconcile,
  work,
  workWhatIsDue,
} from '../../support/processors/reconciliation.ts';
import { completedRefund, createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment, storedPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { rowOf, timelineOf } from '../../support/refunds/refund-records.ts';
import { putOff } from '../../support/refunds/refund-work.ts';
import { useService } from '../../support/use-service.ts';

// No worker runs: each test takes a worker's steps itself, and nothing is retried or polled before a test makes it due.
const service = useService({
  workers: 0,
  settings: {
    SETTLEMENT_BASE_MS: 3_600_000,
    SETTLEMENT_CAP_MS: 3_600_000,
    RETRY_BASE_MS: 3_600_000,
    RETRY_CAP_MS: 3_600_000,
  },
});

beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));
beforeEach(() => service.sandbox.clearFaults());
afterEach(() => service.sandbox.clearFaults());

const reservedFor = async (transactionId: string) => (await storedPayment(service, transactionId)).reserved;

describe.each(['stripe', 'braintree'] as const)('reconciliation with %s', (processor) => {
  test('subtracts a refund made elsewhere from what can be refunded, also while the payment is fresh', async () => {
    const transactionId = await newPayment(service, { processor });
    expect(await leftToRefund(service, transactionId)).toBe(10_000);
    const id = await refundDirectly(service, { processor, transactionId, amount: 4_000 });
    expect(await leftToRefund(service, transactionId)).toBe(10_000);

    const findings = await findingsAbout(service, processor, { transactionId });
    expect(findings).toMatchObject([
      { kind: 'made_elsewhere', action: 'payment_read', externalRefundId: id, refundId: null },
    ]);
    expect(findings[0]?.facts).toMatchObject({ amount: 4_000, currency: 'usd', remaining: 6_000 });
    expect(findings.some(needsAttention)).toBe(false);
    expect(await leftToRefund(service, transactionId)).toBe(6_000);
    const create = (amount: number) => askForRefund(service, { transactionId, amount, processor });
    const refused = await create(6_001);
    expect(refused.status).toBe(400);
    expect(refused.body.error.message).toContain('60.00 USD');
    expect((await create(6_000)).status).toBe(200);
    await expectInvariants(service);
  });

  test('finds a refund that failed late without a webhook, and frees its amount', async () => {
    const refund = await completedRefund(service, processor);
    await endAtProcessor(service, refund, 'failed');
    const findings = await findingsAbout(service, processor, { refundId: refund.id });
    expect(findings).toMatchObject([{ kind: 'reversed_there', action: 'resync_requested' }]);
    expect(findings.some(needsAttention)).toBe(false);
    expect((await rowOf(service, refund.id)).status).toBe('completed');
    expect((await workWhatIsDue(service, refund)).status).toBe('failed');
    expect(await reservedFor(refund.transactionId)).toBe(0n);
    expect(await findingsAbout(service, processor, { refundId: refund.id })).toEqual([]);
    await expectInvariants(service);
  });

  test('finds a refund that failed after the processor had completed it long after its acceptance', async () => {
    const refund = await completedRefund(service, processor);
    await endAtProcessor(service, refund, 'failed');
    // For two months it waited for the customer's bank details, for example: it is in no list of the last one.
    const [createdAt, completedAt] = [new Date('2019-11-15T00:00:00Z'), new Date('2020-01-15T00:00:00Z')];
    await service.deps.db.refund.update({
      where: { id: refund.id },
      data: { createdAt, acceptedAt: createdAt, completedAt },
    });
    const window = { from: new Date('2020-01-01T00:00:00Z'), to: new Date('2020-02-01T00:00:00Z') };
    const { findings } = await reconcile(service, processor, { window });
    expect(findings).toMatchObject([{ kind: 'reversed_there', refundId: refund.id }]);
    expect((await workWhatIsDue(service, refund)).status).toBe('failed');
  });

  test('looks up a refund that counts as not sent but is at the processor, and never sends it', async () => {
    const refund = await createdRefund(service, processor);
    await refundDirectly(service, {
      processor,
      transactionId: refund.transactionId,
      amount: 2_500,
      refundId: refund.id,
    });
    await putOff(service, refund.id, 86_400_000);
    const findings = await findingsAbout(service, processor, { refundId: refund.id });
    expect(findings).toMatchObject([{ kind: 'found_there', action: 'resync_requested' }]);
    const found = await workWhatIsDue(service, refund);
    expect(found).toMatchObject({ externalRefundId: expect.any(String), attempts: [] });
    expect(await timelineOf(service, refund.id)).toEqual(['refund.created', 'lookup.found']);
    expect(await service.sandbox.refunds({ transactionId: refund.transactionId })).toHaveLength(1);
    await expectInvariants(service);
  });

  test('reports nothing for a refund at the edges of the window', async () => {
    const refund = await completedRefund(service, processor);
    const now = Date.now();
    // Accepted within the window by our clock, long after its creation, and made outside of it by theirs; and the other way round.
    const longAgo = { from: new Date('2020-01-01T00:00:00Z'), to: new Date('2020-02-01T00:00:00Z') };
    const lately = { from: new Date(now - 600_000), to: new Date(now + 600_000) };
    await service.deps.db.refund.update({
      where: { id: refund.id },
      data: { createdAt: new Date('2019-11-15T00:00:00Z'), acceptedAt: new Date('2020-01-15T00:00:00Z') },
    });
    for (const window of [longAgo, lately]) {
      const { run, findings } = await reconcile(service, processor, { window });
      expect(run).toMatchObject({ windowStart: window.from, windowEnd: window.to, failure: null });
      expect(run.comparedCount).toBeGreaterThan(0);
      expect(
        findings.filter(
          ({ refundId, externalRefundId }) =>
            refundId === refund.id || externalRefundId === refund.externalRefundId,
        ),
      ).toEqual([]);
    }
  });

  test("does not touch another organization's refunds at the same processor account", async () => {
    const other = await service.addOrganization('Other');
    const theirRefund = await completedRefund(service, processor);
    await endAtProcessor(service, theirRefund, 'failed');
    const before = await rowOf(service, theirRefund.id);
    const events = await timelineOf(service, theirRefund.id);
    const { findings } = await reconcile(service, processor, { organizationId: other.id });
    expect(findings.filter(({ refundId }) => refundId !== null)).toEqual([]);
    expect(await rowOf(service, theirRefund.id)).toEqual(before);
    expect(await timelineOf(service, theirRefund.id)).toEqual(events);
    await reconcile(service, processor);
    expect((await workWhatIsDue(service, theirRefund)).status).toBe('failed');
  });
});

test('matches a voided payment with the refund of unknown outcome', async () => {
  const whole = { status: 'submitted_for_settlement', amount: 2_500 };
  const refund = await newRefund(service, { amount: 2_500, processor: 'braintree' }, { payment: whole });
  await service.sandbox.fault({
    processor: 'braintree',
    operation: 'refund.create',
    kind: 'reset-after-apply',
  });
  expect((await work(service, refund)).unknownSince).not.toBeNull();
  const findings = await findingsAbout(service, 'braintree', { refundId: refund.id });
  expect(findings).toMatchObject([{ kind: 'found_there', externalRefundId: refund.transactionId }]);
  expect((await workWhatIsDue(service, refund)).status).toBe('completed');
  expect(await findingsAbout(service, 'braintree', { refundId: refund.id })).toEqual([]);
  await expectInvariants(service);
});

test('leaves nothing to refund of a payment that was voided elsewhere', async () => {
  const status = 'submitted_for_settlement';
  const transactionId = await newPayment(service, { processor: 'braintree', status });
  expect(await leftToRefund(service, transactionId)).toBe(10_000);
  const { transactions } = braintreeClient(service.sandboxUrl);
  expect((await transactions.void(transactionId)).success).toBe(true);
  expect(await findingsAbout(service, 'braintree', { transactionId })).toMatchObject([
    { kind: 'made_elsewhere', externalRefundId: transactionId },
  ]);
  expect(await leftToRefund(service, transactionId)).toBe(0);
});

// In the ledger of all environments this looks like a refund that moved twice; the invariants hold before it.
test.each(PROCESSORS)(
  "does not touch another environment's refunds at %s, whatever name a refund there carries",
  async (processor) => {
    const refund = await completedRefund(service, processor);
    const live = {
      processor,
      environment: 'live',
      id: refund.transactionId,
      amount: 10_000,
      currency: 'usd',
    };
    await service.sandbox.transaction(live);
    const { id: name, transactionId } = refund;
    await refundDirectly(service, {
      processor,
      transactionId,
      amount: 900,
      refundId: name,
      environment: 'live',
    });
    const before = await rowOf(service, refund.id);
    const { findings } = await reconcile(service, processor, { environment: 'live' });
    expect(findings).toEqual([]);
    expect(await rowOf(service, refund.id)).toEqual(before);
    expect(await leftToRefund(service, transactionId)).toBe(7_500);
  },
);
