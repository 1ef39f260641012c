import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PROCESSORS } from '#test/sandbox/processors.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { lengthenTimeline } from '#test/support/refunds/long-timeline.ts';
import { askForRefund } from '#test/support/refunds/new-refund.ts';
import { newPayment, storedPayment } from '#test/support/refunds/payments.ts';
import {
  allComplete,
  makeDue,
  rowOf,
  timelineOf,
  untilStatus,
} from '#test/support/refunds/refund-records.ts';
import { creationOf, ownerOf } from '#test/support/refunds/statement-items.ts';
import { testedBackends } from '#test/support/release.ts';
import { untilChange } from '#test/support/service.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

// What happens after every crash and every answer of a processor is shown by the model test and the crash matrix.
describe.each(testedBackends)('the life of a refund, queues on $name', (backend) => {
  const service = useService({ backend, workers: 2 });

  beforeEach(() => service.sandbox.settings({ autoSettleMs: 100, latencyMs: 0 }));
  afterEach(async () => {
    await service.sandbox.clearFaults();
    await expectInvariants(service);
  });

  /** Waits for the answer of the processor, unless the headers say otherwise. */
  const create = (transactionId: string, headers: Record<string, string> = untilChange) =>
    askForRefund(service, { transactionId }, { headers });
  const async = { prefer: 'respond-async' };

  describe.each(PROCESSORS)('at %s', (processor) => {
    const payment = async () => await newPayment(service, { processor });

    test('completes with every step in its timeline', async () => {
      const { status, body } = await create(await payment());
      expect(status).toBe(200);
      expect(body.data.externalRefundId).not.toBeNull();
      const refund = await untilStatus(service, body.data.id, 'completed');
      expect(refund.updatedAt > refund.createdAt).toBe(true);
      const types = await timelineOf(service, refund.id);
      expect(types.slice(0, 2)).toEqual(['refund.created', 'attempt.accepted']);
      expect(refund.attempts).toMatchObject([{ number: 1, outcome: 'accepted' }]);
      expect(types.at(-1)).toBe('refund.completed');
    });

    test('answers at once when the client does not want to wait', async () => {
      await service.sandbox.settings({ latencyMs: 300 });
      const { status, body, headers } = await create(await payment(), async);
      expect(status).toBe(200);
      expect(headers['preference-applied']).toBe('respond-async');
      expect(body.data).toMatchObject({ status: 'processing', externalRefundId: null });
      await untilStatus(service, body.data.id, 'completed');
    });

    test('waits with a cancellation for the answer to a running submission', async () => {
      await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'delay', delayMs: 300 });
      const { body } = await create(await payment(), async);
      const { id } = body.data;
      await waitFor('the submission', async () => (await rowOf(service, id)).attemptCount === 1);
      const { status } = await service.call('POST', `/v1/refunds/${id}/cancel`);
      expect(await timelineOf(service, id)).toContain('attempt.accepted');
      expect((await rowOf(service, id)).status === 'cancelled').toBe(status === 200);
    });

    test('accepts ten of thirty creations of a tenth of a payment at once, and ten move', async () => {
      const transactionId = await payment();
      const answers = await Promise.all(Array.from({ length: 30 }, () => create(transactionId)));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(10);
      expect(new Set(statuses)).toEqual(new Set([200, 409]));
      await allComplete(service);
      expect(await service.sandbox.refunds({ transactionId })).toHaveLength(10);
    });
  });

  test('concurrent cancellations cancel once', async () => {
    const transactionId = await newPayment(service, { paymentMethod: 'customer_balance' });
    await service.sandbox.settings({ autoSettleMs: null });
    const { body } = await create(transactionId);
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => service.call('POST', `/v1/refunds/${body.data.id}/cancel`)),
    );
    expect(answers.map(({ status }) => status)).toContain(200);
    const cancelled = { refundId: body.data.id, type: 'refund.cancelled' };
    expect(await service.deps.db.refundEvent.count({ where: cancelled })).toBe(1);
  });

  test('waits for a change when a client asks for a refund with Prefer: wait', async () => {
    await service.sandbox.settings({ autoSettleMs: 400 });
    const { body } = await create(await newPayment(service));
    const { body: waited, headers } = await service.call('GET', `/v1/refunds/${body.data.id}`, {
      headers: untilChange,
    });
    expect(waited.data.status).toBe('completed');
    expect(headers['preference-applied']).toBe(untilChange.prefer);
  });

  test('fails a refund that could not be sent before the retry deadline', async () => {
    const transactionId = await newPayment(service);
    const limited = { processor: 'stripe', operation: 'refund.create', kind: 'rate-limit', times: null };
    await service.sandbox.fault(limited);
    const { body } = await create(transactionId, async);
    await waitFor('two tries', async () => (await rowOf(service, body.data.id)).consecutiveFailures > 1);
    expect(await timelineOf(service, body.data.id)).not.toContain('attempt.unknown');
    const retryingSince = new Date(Date.now() - service.settings.RETRY_DEADLINE_MS - 1000);
    await service.deps.db.refundWork.update({ where: { refundId: body.data.id }, data: { retryingSince } });
    const refund = await untilStatus(service, body.data.id, 'failed');
    expect(refund.failureCode).toBe('processor_unavailable');
    expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
  });

  test('refuses a refund in a currency other than that of the payment and reserves nothing', async () => {
    const transactionId = await newPayment(service, { currency: 'eur' });
    const body = { transactionId, amount: 100, reason: 'other', currency: 'eur' };
    expect((await service.call('POST', '/v1/refunds', { body })).status).toBe(200);
    const { organization, deps } = service;
    const { payment: _, ...asked } = creationOf(ownerOf(organization));
    const answer = await deps.statements.create({ ...asked, transactionId });
    expect(answer).toMatchObject({ outcome: 'refused', refund: null, payment: { currency: 'eur' } });
    expect((await storedPayment(service, transactionId)).reserved).toBe(100n);
  });

  test('does not ask a processor to cancel without end', async () => {
    await service.sandbox.settings({ autoSettleMs: null });
    const transactionId = await newPayment(service, { paymentMethod: 'customer_balance' });
    const { id } = (await create(transactionId)).body.data;
    await lengthenTimeline(service, id, 2_000);
    const { status, body } = await service.call('POST', `/v1/refunds/${id}/cancel`);
    expect([status, body.error.code]).toEqual([409, 'refund_not_cancellable']);
    expect((await timelineOf(service, id)).at(-1)).not.toMatch(/cancel/);
  });

  test('neither completes nor cancels a refund with a different amount at the processor until they agree', async () => {
    // Nothing settles before the amount on record is another one.
    await service.sandbox.settings({ autoSettleMs: null });
    const { body } = await create(await newPayment(service));
    const { id } = body.data;
    await service.deps.db.$executeRaw`UPDATE refund SET amount = 999 WHERE id = ${id}`;
    await waitFor('the refund to be flagged', async () => (await rowOf(service, id)).flaggedAt);
    const headers = { prefer: 'wait=1' };
    expect((await service.call('POST', `/v1/refunds/${id}/cancel`, { headers })).status).toBe(409);
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', flagReason: 'amount_differs' });
    await service.sandbox.settings({ autoSettleMs: 100 });
    await service.deps.db.$executeRaw`UPDATE refund SET amount = 1000 WHERE id = ${id}`;
    await makeDue(service, id);
    await waitFor('the refund to end', async () => (await rowOf(service, id)).status !== 'processing');
  });
});
