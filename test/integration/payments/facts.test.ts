import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { markPaymentStale, readFacts } from '#shared/payments/payment.ts';
import type { Refund } from '#shared/platform/database.ts';
import { requestDigestOf } from '#shared/platform/secrets/request-digest.ts';
import { loadAccount } from '#shared/processors/accounts/account.ts';
import { recordKnown } from '#shared/refunds/changes/record-payment.ts';
import { requestResync } from '#shared/refunds/changes/work.ts';
import { resolveRefund } from '#shared/refunds/decisions/resolve.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { holdFirstAnswer } from '../../support/processors/around-calls.ts';
import { endAtProcessor } from '../../support/processors/end-at-processor.ts';
import { leftToRefund, work } from '../../support/processors/reconciliation.ts';
import { webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment, readPayment, storedPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { makeDue, rowOf, timelineOf, unknownRefundId } from '../../support/refunds/refund-records.ts';
import { flagByHand } from '../../support/refunds/refund-work.ts';
import { useService } from '../../support/use-service.ts';

const hour = 3_600_000;

// Only tests advance refunds; a failed attempt is not repeated by itself.
const settings = {
  RETRY_BASE_MS: hour,
  RETRY_CAP_MS: hour,
  SETTLEMENT_BASE_MS: hour,
  SETTLEMENT_CAP_MS: hour,
};
const service = useService({ workers: 0, settings });
const webhooks = useWebhooks(service);

beforeEach(() => service.sandbox.settings({ autoSettleMs: null }));
afterEach(() => service.sandbox.clearFaults());

describe('a payment that was unreachable when its refunds were accepted', () => {
  /** Refunds of 60.00 each, of one payment of 100.00 that cannot be read now. */
  async function unverified(
    processor: string,
    count: number,
    traits = {},
    asked: { currency?: string } = {},
  ): Promise<Refund[]> {
    const transactionId = await newPayment(service, { processor, ...traits });
    await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
    const refunds: Refund[] = [];
    while (refunds.length < count) {
      refunds.push(await createdRefund(service, processor, { transactionId, amount: 6_000, ...asked }));
    }
    await service.sandbox.clearFaults();
    return refunds;
  }

  test.each([
    ['uncaptured', 'charge_uncaptured'],
    ['disputed', 'charge_disputed'],
  ])('is not refunded when it turns out to be %s: nothing is sent', async (state, failureCode) => {
    const [refund] = (await unverified('stripe', 1, { status: state })) as [Refund];
    await advanceRefund(service.deps, refund.id);
    expect(await rowOf(service, refund.id)).toMatchObject({ status: 'failed', failureCode, attemptCount: 0 });
  });

  test('fails none of them until the recovery has ended: what seems unsent may have been sent', async () => {
    const [first, second] = (await unverified('stripe', 2)) as [Refund, Refund];
    await requireRecovery(service.deps.db);
    expect(await leftToRefund(service, first.transactionId)).toBe(0);
    expect(await rowOf(service, second.id)).toMatchObject({ status: 'processing' });
    await endRecovery(service.deps.db);
  });

  /** A person ends a flagged refund as completed, under the processor's id of a refund made by hand; without one, insisting. */
  async function completeByHand({ id }: Refund, made: string | null): Promise<void> {
    await service.deps.db.refundWork.update({
      where: { refundId: id },
      data: { flaggedAt: new Date(), flagReason: 'outcome_unknown' },
    });
    const outcome = await resolveRefund(service.deps, await rowOf(service, id), 'cli:ada', {
      status: 'completed',
      reason: 'Made in the dashboard',
      externalRefundId: made ?? `re_made_for_${id}`,
      force: made === null,
    });
    expect(outcome).toMatchObject({ kind: 'done', refund: { status: 'completed' } });
  }

  /** Makes the refund due, and takes every step that is due; answers how often it was claimed. */
  async function advanced({ id }: Refund): Promise<number> {
    await makeDue(service, id);
    const claim = vi.spyOn(service.deps.statements, 'claim');
    await advanceRefund(service.deps, id);
    const claims = await Promise.all(claim.mock.results.map(({ value }) => value));
    claim.mockRestore();
    return claims.filter((claimed) => claimed?.refund.id === id).length;
  }

  const settled = { stripe: 'succeeded', braintree: 'settled' };

  test.each(PROCESSORS)(
    'counts one that a person completed: what no longer fits fails, and is not read again (%s)',
    async (processor) => {
      const [first, second, third] = (await unverified(processor, 3)) as [Refund, Refund, Refund];
      const { transactionId } = first;
      await flagByHand(service, third.id, { reason: 'extra_refund', facts: {} });
      const made = await refundDirectly(service, { processor, transactionId, amount: 6_000 });
      await service.sandbox.driveRefund(made, { status: settled[processor] });
      await completeByHand(first, made);
      expect(await advanced(second)).toBe(1);
      expect(await rowOf(service, second.id)).toMatchObject({
        status: 'failed',
        failureCode: 'amount_too_large',
        attemptCount: 0,
        work: null,
      });
      // A flag for another refund at the processor stays.
      const flagged = { status: 'failed', work: { flagReason: 'extra_refund', dueAt: null } };
      expect(await rowOf(service, third.id)).toMatchObject(flagged);
      expect(await service.sandbox.refunds({ processor, transactionId })).toHaveLength(1);
      expect(await leftToRefund(service, transactionId)).toBe(4_000);
    },
  );

  test('keeps a refund of unknown outcome and its reservation', async () => {
    const [doubtful, other] = (await unverified('stripe', 2)) as [Refund, Refund];
    const { transactionId } = doubtful;
    await refundDirectly(service, { processor: 'stripe', transactionId, amount: 5_000 });
    await requestResync(service.deps.db, doubtful);
    expect(await advanced(other)).toBe(1);
    expect(await rowOf(service, other.id)).toMatchObject({ status: 'failed', attemptCount: 0 });
    expect(await rowOf(service, doubtful.id)).toMatchObject({ status: 'processing', failureCode: null });
    const row = await storedPayment(service, transactionId);
    expect(row).toMatchObject({ amount: 10_000n, reserved: 6_000n, refundedOutside: 4_000n });
  });

  test('is not refunded in another currency, although it was read while the refund was looked up', async () => {
    const [refund] = (await unverified('stripe', 1, {}, { currency: 'jpy' })) as [Refund];
    await requestResync(service.deps.db, refund);
    expect(await leftToRefund(service, refund.transactionId)).toBe(4_000);
    await advanceRefund(service.deps, refund.id);
    await service.deps.db.refundWork.update({
      where: { refundId: refund.id },
      data: { unknownSince: new Date(Date.now() - hour) },
    });
    await advanced(refund);
    expect(await service.sandbox.refunds({ transactionId: refund.transactionId })).toEqual([]);
    expect(await rowOf(service, refund.id)).toMatchObject({
      status: 'failed',
      failureCode: 'currency_mismatch',
      attemptCount: 0,
    });
  });

  test('is not read in a loop while the reservations exceed it', async () => {
    const [first, second] = (await unverified('stripe', 2)) as [Refund, Refund];
    await completeByHand(first, null);
    const reading = holdFirstAnswer(service, 'getPayment');
    const advancing = advanced(second);
    await reading.untilGiven();
    // While the payment is read, somebody says that the refund is at the processor.
    await requestResync(service.deps.db, second);
    reading.release();
    // The lookup follows at once.
    expect(await advancing).toBe(2);
    const { status, dueAt, leasedUntil } = await rowOf(service, second.id);
    expect([status, leasedUntil]).toEqual(['processing', null]);
    expect(dueAt).not.toBeNull();
    expect(await timelineOf(service, second.id)).toEqual(['refund.created', 'lookup.inconclusive']);
  });
});

const eligible = async (transactionId: string) => {
  const { body } = await service.call('POST', '/v1/policies/check', { body: { transactionId } });
  return body.data;
};
test('counts a later capture', async () => {
  const transactionId = await newPayment(service, { status: 'uncaptured', capturedAmount: 2_000 });
  await askForRefund(service, { transactionId, amount: 2_000 });
  expect(await eligible(transactionId)).toMatchObject({ eligible: false, maxAmount: 0 });
  await service.sandbox.changeTransaction(transactionId, { status: 'succeeded', capturedAmount: 9_000 });
  await service.deps.db.payment.updateMany({
    where: { names: { some: { name: transactionId } } },
    data: { fetchedAt: null },
  });
  expect(await eligible(transactionId)).toMatchObject({ eligible: true, maxAmount: 7_000 });
});

test.each([
  [7_000n, 400, 'validation_error', 'at most 2000'],
  [9_000n, 409, 'refund_already_processed', ''],
])(
  'a creation counts %i that were refunded elsewhere after its decision',
  async (outside, status, code, message) => {
    const { transactionId } = await createdRefund(service, 'stripe', { amount: 1_000 });
    const { statements } = service.deps;
    const record = statements.create;
    const create = vi.spyOn(statements, 'create').mockImplementationOnce(async (item) => {
      await service.deps.db.payment.updateMany({
        where: { names: { some: { name: transactionId } } },
        data: { refundedOutside: outside },
      });
      return await record(item);
    });
    const body = { transactionId, amount: 5_000, reason: 'other' };
    const answer = await service.call('POST', '/v1/refunds', { body });
    expect(create).toHaveBeenCalledOnce();
    create.mockRestore();
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(answer.body.error.message).toContain(message);
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(1);
  },
);

test.each(PROCESSORS)(
  'a creation that has read the payment keeps to it, although another one could not read it meanwhile (%s)',
  async (processor) => {
    const transactionId = await newPayment(service, { processor });
    const body = { transactionId, amount: 6_000, reason: 'other', processor };
    const reading = holdFirstAnswer(service, 'getPayment');
    const slow = service.call('POST', '/v1/refunds', { body, headers: { prefer: 'respond-async' } });
    await reading.untilGiven();
    await service.sandbox.fault({ processor, operation: 'transaction.get', kind: 'error-503' });
    const unread = await createdRefund(service, processor, { transactionId, amount: 6_000 });
    reading.release();
    const { status, body: answer } = await slow;
    expect([status, answer.error?.code]).toEqual([400, 'validation_error']);
    expect(answer.error.message).toContain('4000');
    expect(await service.deps.db.refund.findMany({ where: { transactionId } })).toMatchObject([
      { id: unread.id, status: 'processing' },
    ]);
    const row = await storedPayment(service, transactionId);
    expect(row).toMatchObject({ amount: 10_000n, reserved: 6_000n });
  },
);

test.each(PROCESSORS)(
  'does not count a read that began before a webhook about another refund as fresh (%s)',
  async (processor) => {
    const key = await createdRefund(service, processor);
    const { transactionId, paymentId } = key;
    await markPaymentStale(service.deps.db, paymentId);
    const reading = holdFirstAnswer(service, 'getPayment');
    const early = readPayment(service.deps, key);
    await reading.untilGiven();
    const externalRefundId = await refundDirectly(service, { processor, transactionId, amount: 4_000 });
    const reported = webhookAbout(processor, { externalRefundId, refundId: null, transactionId });
    expect((await webhooks.send(processor, reported)).status).toBe(200);
    reading.release();
    await early;
    const row = await storedPayment(service, transactionId);
    expect(row.fetchedAt).toBeNull();
    expect(await leftToRefund(service, transactionId)).toBe(3_500);
  },
);

test.each(PROCESSORS)(
  'does not count our refund as made elsewhere, although it ended while the payment was read (%s)',
  async (processor) => {
    const refund = await work(service, await createdRefund(service, processor));
    const { transactionId, paymentId } = refund;
    await markPaymentStale(service.deps.db, paymentId);
    const account = await loadAccount(service.deps.db, refund);
    const stored = await service.deps.lookups.payment(refund);
    const found = await readFacts(service.deps, { account, answer: null }, transactionId, stored);
    await endAtProcessor(service, refund, 'failed');
    expect((await work(service, refund)).status).toBe('failed');
    await recordKnown(service.deps, refund, found as Extract<typeof found, { kind: 'read' }>);
    expect(await leftToRefund(service, transactionId)).toBe(10_000);
  },
);

test('counts a refund once that was made before a restore and is requested again', async () => {
  const { id: organizationId } = service.organization;
  const headers = { 'idempotency-key': 'again' };
  const { id, transactionId } = await newRefund(
    service,
    { processor: 'braintree', amount: 6_000 },
    { headers },
  );
  const refundId = `${unknownRefundId}.${requestDigestOf({ organizationId, environment: 'test' }, 'again')}`;
  await refundDirectly(service, { processor: 'braintree', transactionId, amount: 6_000, refundId });
  await markPaymentStale(service.deps.db, (await rowOf(service, id)).paymentId);
  expect(await leftToRefund(service, transactionId)).toBe(4_000);
});
