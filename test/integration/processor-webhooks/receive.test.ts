import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProcessorName } from '../../sandbox/processors.ts';
import { holdFirstAnswer, spyOnCalls } from '../../support/processors/around-calls.ts';
import { type ReportedRefund, webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment, storedPayment } from '../../support/refunds/payments.ts';
import { type RefundRecord, rowOf, timelineOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { putOff, untilReviewed } from '../../support/refunds/refund-work.ts';
import { untilChange } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const received = { status: 200, body: { data: { received: true } } };

/** How money that had moved comes back, in each processor's words. */
const gone = {
  stripe: { status: 'failed', failureReason: 'expired_or_canceled_card' },
  braintree: { status: 'settlement_declined' },
};
const failureCodes = { stripe: 'expired_or_canceled_card', braintree: 'settlement_declined' };

// Settlement is asked for once, at once, and then not for as long as a test lasts: what moves later was told.
const service = useService({ settings: { SETTLEMENT_CAP_MS: 3_600_000 } });
const webhooks = useWebhooks(service);

beforeEach(() => service.sandbox.settings({ autoSettleMs: 0, latencyMs: 0 }));
afterEach(async () => {
  await webhooks.disconnectSandbox();
  await service.sandbox.clearFaults();
  await expectInvariants(service);
});

/** Waits for the answer of the processor. */
async function createdRefund(transactionId: string): Promise<string> {
  return (await newRefund(service, { transactionId, amount: 2_500 }, { headers: untilChange })).id;
}

async function completedRefund(
  processor: ProcessorName,
  payment: Record<string, unknown> = {},
): Promise<RefundRecord> {
  const transactionId = await newPayment(service, { processor, ...payment });
  return await untilStatus(service, await createdRefund(transactionId), 'completed');
}

/** A refund that its processor has accepted and not carried out; nobody will ask about it again for long. */
async function openRefund(
  processor: ProcessorName,
  payment: Record<string, unknown> = {},
): Promise<RefundRecord> {
  await service.sandbox.settings({ autoSettleMs: null });
  const id = await createdRefund(await newPayment(service, { processor, ...payment }));
  await waitFor('the refund to be accepted', async () => (await rowOf(service, id)).externalRefundId);
  await putOff(service, id, 3_600_000);
  return await rowOf(service, id);
}

/** A refund that its processor has carried out, and whose answer to the worker is held. */
async function refundBeingSent(processor: ProcessorName) {
  const transactionId = await newPayment(service, { processor });
  const answer = holdFirstAnswer(service, 'createRefund');
  const creating = { transactionId, done: createdRefund(transactionId) };
  await answer.untilGiven();
  const [made] = await service.sandbox.refunds({ processor, transactionId });
  return { refundId: made?.key ?? '', externalRefundId: made?.id ?? '', creating, release: answer.release };
}

const reservedFor = async ({ transactionId }: RefundRecord) =>
  (await storedPayment(service, transactionId)).reserved;

/** That the money came back. */
function returned(processor: ProcessorName, refund: RefundRecord, changes: Partial<ReportedRefund> = {}) {
  return webhookAbout(processor, {
    ...reportOf(refund),
    processorStatus: gone[processor].status,
    ...changes,
  });
}

/** The processor's ids of the refunds that workers read, until the end of the test. */
function watchReadings(): unknown[] {
  const readings: unknown[] = [];
  spyOnCalls(service, (name, call, about) => {
    if (name === 'getRefund') readings.push(about);
    return call();
  });
  return readings;
}

async function eventsOf(refundId: string) {
  return (await webhooks.events()).filter((event) => event.refundId === refundId);
}

describe.each(['stripe', 'braintree'] as const)('webhooks of %s', (processor) => {
  test('that a completed refund came back makes it failed, and gives its reservation back', async () => {
    const refund = await completedRefund(processor);
    expect(await reservedFor(refund)).toBe(2_500n);
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', gone[processor]);
    expect(await webhooks.send(processor, returned(processor, refund))).toMatchObject(received);
    await untilStatus(service, refund.id, 'failed');
    expect(await untilReviewed(service, refund.id)).toMatchObject({ failureCode: failureCodes[processor] });
    expect(await reservedFor(refund)).toBe(0n);
    expect(await eventsOf(refund.id)).toMatchObject([
      { externalRefundId: refund.externalRefundId, processorStatus: gone[processor].status },
    ]);
  });

  test.each(processor === 'stripe' ? ['card'] : ['card', 'us_bank_account'])(
    'reaches us as the sandbox sends it, for a payment by %s',
    async (paymentMethod) => {
      await webhooks.connectSandbox();
      const refund = await completedRefund(processor, { paymentMethod });
      await service.sandbox.driveRefund(refund.externalRefundId ?? '', gone[processor]);
      await untilStatus(service, refund.id, 'failed');
      expect(await reservedFor(refund)).toBe(0n);
      const ofBraintree = { card: 'refund_failed', us_bank_account: 'transaction_settlement_declined' };
      const expected =
        processor === 'stripe' ? 'refund.failed' : ofBraintree[paymentMethod as keyof typeof ofBraintree];
      // A check of the refund may have seen first that it failed.
      await waitFor('the event', async () =>
        (await eventsOf(refund.id)).some(({ type }) => type === expected),
      );
    },
  );

  test('that is not true changes nothing: what the processor says when it is asked counts', async () => {
    const refund = await openRefund(processor);
    const before = await timelineOf(service, refund.id);
    // The payload calls it succeeded or settled; the processor does not.
    expect(await webhooks.send(processor, webhookAbout(processor, reportOf(refund)))).toMatchObject(received);
    expect(await untilReviewed(service, refund.id)).toMatchObject({ status: 'processing' });
    expect(await timelineOf(service, refund.id)).toEqual(before);
  });

  test('in a hundred copies at once is one event and one reading', async () => {
    const refund = await completedRefund(processor);
    const before = await timelineOf(service, refund.id);
    const readings = watchReadings();
    // The processor, when it is asked, agrees with the record instead.
    const webhook = returned(processor, refund);
    const answers = await Promise.all(Array.from({ length: 100 }, () => webhooks.send(processor, webhook)));
    // A machine under load may run out of connections for a moment; the processor would send such a copy again.
    for (const { status } of answers) expect([200, 503]).toContain(status);
    expect(answers.map(({ status }) => status)).toContain(200);
    expect(await eventsOf(refund.id)).toHaveLength(1);
    await untilReviewed(service, refund.id);
    expect(readings.filter((id) => id === refund.externalRefundId).length).toBe(1);
    expect(await webhooks.send(processor, webhook)).toMatchObject(received);
    expect(await rowOf(service, refund.id)).toMatchObject({ status: 'completed', work: null });
    expect(await timelineOf(service, refund.id)).toEqual(before);
  });

  test('that contradicts an answer which is about to be recorded has the refund read after that record', async () => {
    const { refundId, externalRefundId, creating, release } = await refundBeingSent(processor);
    await service.sandbox.driveRefund(externalRefundId, gone[processor]);
    const reported = { externalRefundId, refundId, transactionId: creating.transactionId };
    const processorStatus = gone[processor].status;
    expect(
      await webhooks.send(processor, webhookAbout(processor, { ...reported, processorStatus })),
    ).toMatchObject(received);
    release();
    expect(await creating.done).toBe(refundId);
    // Nothing else has a completed refund of Stripe read again. One of Braintree is asked for once more anyway.
    await untilStatus(service, refundId, 'failed');
    expect((await rowOf(service, refundId)).attempts).toMatchObject([{ outcome: 'accepted' }]);
    expect((await timelineOf(service, refundId)).at(-1)).toBe('refund.failed');
    expect(await service.sandbox.refunds({ processor, transactionId: creating.transactionId })).toHaveLength(
      1,
    );
  });
});
