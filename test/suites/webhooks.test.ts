import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Refund } from '../../shared/db.ts';
import { advanceRefund } from '../../worker/advance/advance-refund.ts';
import { expectInvariants } from '../harness/invariants.ts';
import { newPayment } from '../harness/payments.ts';
import { refundDirectly } from '../harness/refund-directly.ts';
import { rowOf, timelineOf, untilStatus } from '../harness/refund-records.ts';
import { type ProcessorName, signStripe, stripeEvent, webhookAbout } from '../harness/signed-webhooks.ts';
import { useService } from '../harness/use-service.ts';
import { waitFor } from '../harness/wait-for.ts';
import { newsOf, useWebhooks } from '../harness/webhooks.ts';

const received = { status: 200, body: { data: { received: true } } };

/** How money that had moved comes back, in each processor's words. */
const gone = {
  stripe: { status: 'failed', failureReason: 'expired_or_canceled_card' },
  braintree: { status: 'settlement_declined' },
};
const failureCodes = { stripe: 'expired_or_canceled_card', braintree: 'settlement_declined' };

// Settlement is asked for once, at once, and then not for as long as a test lasts: what moves later was told.
const service = useService({ settings: { SETTLEMENT_CAP_MS: 3_600_000, PROCESSOR_TIMEOUT_MS: 5_000 } });
const webhooks = useWebhooks(service);

beforeEach(() => service.sandbox.settings({ autoSettleMs: 0, latencyMs: 0 }));
afterEach(async () => {
  await webhooks.disconnectSandbox();
  await service.sandbox.clearFaults();
  await expectInvariants(service);
});

async function createdRefund(transactionId: string): Promise<string> {
  const { status, body } = await service.call('POST', '/v1/refunds', {
    body: { transactionId, amount: 2_500, reason: 'other' },
  });
  expect(status).toBe(200);
  return body.data.id;
}

async function completedRefund(
  processor: ProcessorName,
  payment: Record<string, unknown> = {},
): Promise<Refund> {
  const transactionId = await newPayment(service, { processor, ...payment });
  return await untilStatus(service, await createdRefund(transactionId), 'completed');
}

/** A refund that its processor has accepted and not carried out; nobody will ask about it again for long. */
async function openRefund(processor: ProcessorName, payment: Record<string, unknown> = {}): Promise<Refund> {
  await service.sandbox.settings({ autoSettleMs: null });
  const id = await createdRefund(await newPayment(service, { processor, ...payment }));
  await waitFor('the refund to be accepted', async () => (await rowOf(service, id)).externalRefundId);
  await service.deps.db.refund.update({
    where: { id },
    data: { nextActionAt: new Date(Date.now() + 3_600_000) },
  });
  return await rowOf(service, id);
}

async function reservedFor({ transactionId }: Refund): Promise<bigint> {
  const { reserved } = await service.deps.db.transaction.findFirstOrThrow({ where: { transactionId } });
  return reserved;
}

async function untilReviewed(id: string): Promise<Refund> {
  await waitFor('the review to be over', async () => {
    const { reviewDueAt, claimedUntil } = await rowOf(service, id);
    return reviewDueAt === null && claimedUntil === null;
  });
  return await rowOf(service, id);
}

async function eventsOf(refundId: string) {
  return (await webhooks.events()).filter((event) => event.refundId === refundId);
}

describe.each(['stripe', 'braintree'] as const)('news of %s', (processor) => {
  test('that a completed refund came back makes it failed, and gives its reservation back', async () => {
    const refund = await completedRefund(processor);
    expect(await reservedFor(refund)).toBe(2_500n);
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', gone[processor]);
    expect(await webhooks.send(processor, webhookAbout(processor, newsOf(refund)))).toMatchObject(received);
    await untilStatus(service, refund.id, 'failed');
    expect(await untilReviewed(refund.id)).toMatchObject({ failureCode: failureCodes[processor] });
    expect(await reservedFor(refund)).toBe(0n);
    expect(await eventsOf(refund.id)).toMatchObject([
      { externalRefundId: refund.externalRefundId, transactionId: refund.transactionId },
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
      const types = (await eventsOf(refund.id)).map(({ type }) => type);
      const expected = { card: 'refund_failed', us_bank_account: 'transaction_settlement_declined' };
      expect(types).toContain(
        processor === 'stripe' ? 'refund.failed' : expected[paymentMethod as keyof typeof expected],
      );
    },
  );

  test('speeds settlement up: the refund completes long before it would be asked about', async () => {
    const refund = await openRefund(
      processor,
      processor === 'stripe' ? {} : { paymentMethod: 'us_bank_account' },
    );
    await webhooks.connectSandbox();
    const done = processor === 'stripe' ? 'succeeded' : 'settled';
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: done });
    await untilStatus(service, refund.id, 'completed');
  });

  test('that is not true changes nothing: what the processor says when it is asked counts', async () => {
    const refund = await openRefund(processor);
    const before = await timelineOf(service, refund.id);
    // The payload calls it succeeded or settled; the processor does not.
    expect(await webhooks.send(processor, webhookAbout(processor, newsOf(refund)))).toMatchObject(received);
    expect(await untilReviewed(refund.id)).toMatchObject({ status: 'processing' });
    expect(await timelineOf(service, refund.id)).toEqual(before);
  });

  test('that comes late and out of order leaves the refund where the processor has it now', async () => {
    const refund = await completedRefund(processor);
    const early = webhookAbout(processor, newsOf(refund));
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', gone[processor]);
    const late = webhookAbout(processor, { ...newsOf(refund), refundId: null });
    expect(await webhooks.send(processor, late)).toMatchObject(received);
    await untilStatus(service, refund.id, 'failed');
    expect(await webhooks.send(processor, early)).toMatchObject(received);
    expect(await untilReviewed(refund.id)).toMatchObject({ status: 'failed', flaggedAt: null });
    expect((await timelineOf(service, refund.id)).filter((type) => type === 'refund.failed')).toHaveLength(1);
  });

  test('in a hundred copies at once is one event and one reading', async () => {
    const refund = await completedRefund(processor);
    const { fencingToken } = await rowOf(service, refund.id);
    const webhook = webhookAbout(processor, newsOf(refund));
    const answers = await Promise.all(Array.from({ length: 100 }, () => webhooks.send(processor, webhook)));
    // A machine under load may run out of connections for a moment; the processor would send such a copy again.
    for (const { status } of answers) expect([200, 503]).toContain(status);
    expect(answers.map(({ status }) => status)).toContain(200);
    expect(await eventsOf(refund.id)).toHaveLength(1);
    // Every claim raises the token.
    expect((await untilReviewed(refund.id)).fencingToken).toBe(fencingToken + 1);
    expect(await webhooks.send(processor, webhook)).toMatchObject(received);
    expect((await rowOf(service, refund.id)).reviewDueAt).toBeNull();
  });

  test('that comes while the refund is read is followed by one more reading, and never by two at a time', async () => {
    const refund = await completedRefund(processor);
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', gone[processor]);
    const { fencingToken } = await rowOf(service, refund.id);
    const readingMs = 1_200;
    await service.sandbox.settings({ latencyMs: readingMs });
    const since = performance.now();
    const first = webhookAbout(processor, newsOf(refund));
    const second = webhookAbout(processor, { ...newsOf(refund), refundId: null });
    expect(await webhooks.send(processor, first)).toMatchObject(received);
    await waitFor('a reading', async () => (await rowOf(service, refund.id)).claimedUntil !== null);
    expect(await webhooks.send(processor, second)).toMatchObject(received);
    await Promise.all(Array.from({ length: 8 }, () => advanceRefund(service.deps, refund.id)));
    await untilStatus(service, refund.id, 'failed');
    // Every claim raises the token; readings that overlap take less time than one after the other.
    const readings = (await untilReviewed(refund.id)).fencingToken - fencingToken;
    expect(readings).toBeGreaterThan(1);
    expect(performance.now() - since).toBeGreaterThan(readings * readingMs * 0.9);
    expect((await timelineOf(service, refund.id)).filter((type) => type === 'refund.failed')).toHaveLength(1);
  });

  test('that arrives before the acceptance is on record makes no second record and no second refund', async () => {
    const transactionId = await newPayment(service, { processor });
    await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'delay', delayMs: 800 });
    const creating = createdRefund(transactionId);
    const [moved] = await waitFor('the refund to be at the processor', async () => {
      const there = await service.sandbox.refunds({ processor, transactionId });
      return there.length === 1 && there;
    });
    const refundId = moved?.key ?? '';
    expect(await rowOf(service, refundId)).toMatchObject({ externalRefundId: null, lastOutcome: 'unknown' });
    const news = { externalRefundId: moved?.id ?? '', refundId, transactionId };
    expect(await webhooks.send(processor, webhookAbout(processor, news))).toMatchObject(received);
    expect((await rowOf(service, refundId)).reviewDueAt).not.toBeNull();
    expect(await creating).toBe(refundId);
    await untilStatus(service, refundId, 'completed');
    expect(await untilReviewed(refundId)).toMatchObject({ attemptCount: 1, externalRefundId: moved?.id });
    expect(await service.sandbox.refunds({ processor, transactionId })).toHaveLength(1);
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(1);
    expect((await timelineOf(service, refundId)).filter((type) => type === 'attempt.accepted')).toHaveLength(
      1,
    );
  });

  test('of a refund that was made elsewhere has the payment read anew before it is next used', async () => {
    const transactionId = await newPayment(service, { processor });
    const check = async () =>
      (await service.call('POST', '/v1/policies/check', { body: { transactionId } })).body.data.maxAmount;
    expect(await check()).toBe(10_000);
    const externalRefundId = await refundDirectly(service, { processor, transactionId, amount: 4_000 });
    // What was read lately is believed until somebody says otherwise.
    expect(await check()).toBe(10_000);
    const news = { externalRefundId, refundId: null, transactionId };
    expect(await webhooks.send(processor, webhookAbout(processor, news))).toMatchObject(received);
    expect(await check()).toBe(6_000);
    expect(await webhooks.events()).toContainEqual(
      expect.objectContaining({ refundId: null, externalRefundId, transactionId }),
    );
  });
});

test('of a payment known by its charge and by its intent, both are read anew', async () => {
  const charge = await newPayment(service);
  const intent = `pi_${charge.slice(3)}`;
  for (const transactionId of [charge, intent])
    await service.call('POST', '/v1/policies/check', { body: { transactionId } });
  const object = { id: charge, object: 'charge', payment_intent: intent };
  const event = stripeEvent(
    { externalRefundId: 're_x', refundId: null, transactionId: charge },
    { type: 'charge.refunded', data: { object } },
  );
  expect(await webhooks.send('stripe', signStripe(JSON.stringify(event)))).toMatchObject(received);
  const rows = await service.deps.db.transaction.findMany({
    where: { transactionId: { in: [charge, intent] } },
  });
  expect(rows.map(({ fetchedAt }) => fetchedAt)).toEqual([null, null]);
});

test('a reading that the processor refuses is made again, and the event is not needed for it', async () => {
  const refund = await completedRefund('stripe');
  await service.sandbox.driveRefund(refund.externalRefundId ?? '', gone.stripe);
  await service.sandbox.fault({ processor: 'stripe', operation: 'refund.get', kind: 'error-503', times: 2 });
  expect(await webhooks.send('stripe', webhookAbout('stripe', newsOf(refund)))).toMatchObject(received);
  await untilStatus(service, refund.id, 'failed');
});

test('an answer comes at once, however slow the processor is', async () => {
  const refund = await completedRefund('stripe');
  await service.sandbox.settings({ latencyMs: 20_000 });
  const since = performance.now();
  expect(await webhooks.send('stripe', webhookAbout('stripe', newsOf(refund)))).toMatchObject(received);
  expect(performance.now() - since).toBeLessThan(10_000);
  await service.sandbox.settings({ latencyMs: 0 });
  await untilReviewed(refund.id);
});
