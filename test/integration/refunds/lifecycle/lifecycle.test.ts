import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { setProcessorAccount } from '../../../../shared/processors/accounts/manage-accounts.ts';
import { flagOf } from '../../../../shared/refunds/model/flags.ts';
import { braintreeClient } from '../../../sandbox/clients.ts';
import { expectInvariants } from '../../../support/refunds/invariants.ts';
import { newPayment } from '../../../support/refunds/payments.ts';
import { makeDue, rowOf, timelineOf, untilStatus } from '../../../support/refunds/refund-records.ts';
import { creationOf } from '../../../support/refunds/statement-items.ts';
import { testedBackends } from '../../../support/release.ts';
import { sandboxCredentials } from '../../../support/service.ts';
import { useService } from '../../../support/use-service.ts';
import { waitFor } from '../../../support/wait-for.ts';

describe.each(testedBackends)('the life of a refund, queues on $name', (backend) => {
  const service = useService({ backend });

  beforeEach(async () => {
    await service.sandbox.clearFaults();
    await service.sandbox.settings({ autoSettleMs: 100, latencyMs: 0 });
  });
  afterEach(async () => {
    await service.sandbox.clearFaults();
    await expectInvariants(service);
  });

  const payment = async (processor: string, options = {}) =>
    await newPayment(service, { processor, ...options });

  async function create(transactionId: string, body: object = {}, headers: Record<string, string> = {}) {
    return await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 2_500, reason: 'other', ...body },
      headers,
    });
  }

  async function pauseBetween(refundId: string, first: string, second: string): Promise<number> {
    const events = await service.deps.db.refundEvent.findMany({ where: { refundId } });
    const [from = Number.NaN, to = Number.NaN] = [first, second].map((type) =>
      events.find((event) => event.type === type)?.createdAt.getTime(),
    );
    return to - from;
  }

  const async = { prefer: 'respond-async' };

  describe.each(['stripe', 'braintree'] as const)('at %s', (processor) => {
    test('completes with every step in its timeline', async () => {
      const { status, body } = await create(await payment(processor));
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
      const { status, body, headers } = await create(await payment(processor), {}, async);
      expect(status).toBe(200);
      expect(headers['preference-applied']).toBe('respond-async');
      expect(body.data).toMatchObject({ status: 'processing', externalRefundId: null });
      await untilStatus(service, body.data.id, 'completed');
    });

    test.each(['timeout-after-apply', 'reset-after-apply'])(
      'finds the refund again when the answer is lost by %s, and sends nothing twice',
      async (kind) => {
        const transactionId = await payment(processor);
        await service.sandbox.fault({ processor, operation: 'refund.create', kind });
        const { body } = await create(transactionId, {}, async);
        const refund = await untilStatus(service, body.data.id, 'completed');
        expect(refund.attemptCount).toBe(1);
        expect(await timelineOf(service, refund.id)).toContain('lookup.found');
        expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
      },
    );

    test.each(['timeout', 'reset', 'error-500'])(
      'looks before it sends again when %s leaves the outcome open',
      async (kind) => {
        const transactionId = await payment(processor);
        await service.sandbox.fault({ processor, operation: 'refund.create', kind });
        const { body } = await create(transactionId, {}, async);
        const refund = await untilStatus(service, body.data.id, 'completed');
        expect(refund.attemptCount).toBe(2);
        const types = await timelineOf(service, refund.id);
        expect(types.indexOf('lookup.absent')).toBeGreaterThan(types.indexOf('attempt.unknown'));
        expect(types.indexOf('attempt.accepted')).toBeGreaterThan(types.indexOf('lookup.absent'));
        // The delay counts from the attempt's end, a moment before its event is written.
        const pauseMs = await pauseBetween(refund.id, 'attempt.unknown', 'lookup.absent');
        expect(pauseMs).toBeGreaterThanOrEqual((service.settings.LOOKUP_SETTLE_DELAY_MS ?? 0) * 0.8);
        expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
      },
    );

    test('repeats failing lookups until one finds the refund', async () => {
      const transactionId = await payment(processor);
      await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'reset-after-apply' });
      const { body } = await create(transactionId, {}, async);
      await waitFor('the attempt to be unknown', async () =>
        (await timelineOf(service, body.data.id)).includes('attempt.unknown'),
      );
      await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: 3 });
      await untilStatus(service, body.data.id, 'completed');
      expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
    });

    test('retries after a rate limit', async () => {
      const transactionId = await payment(processor);
      await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'rate-limit' });
      const { body } = await create(transactionId, {}, async);
      const refund = await untilStatus(service, body.data.id, 'completed');
      expect(refund.attemptCount).toBe(2);
      expect(await timelineOf(service, refund.id)).toContain('attempt.unavailable');
    });

    test('looks up a refund after a malformed success', async () => {
      const transactionId = await payment(processor);
      await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'malformed' });
      const { body } = await create(transactionId, {}, async);
      await untilStatus(service, body.data.id, 'completed');
      expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
    });

    test('accepts a refund while the processor is unreachable and verifies it before sending', async () => {
      const transactionId = await payment(processor);
      await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
      const { status, body } = await create(transactionId, { processor }, async);
      expect(status).toBe(200);
      const waiting = await rowOf(service, body.data.id);
      expect(waiting.attemptCount).toBe(0);
      await service.sandbox.clearFaults();
      await untilStatus(service, body.data.id, 'completed');
    });

    test('fails a refund that exceeds the payment once the processor is reachable', async () => {
      const transactionId = await payment(processor);
      await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
      const first = await create(transactionId, { processor, amount: 8_000 }, async);
      const second = await create(transactionId, { processor, amount: 8_000 }, async);
      await service.sandbox.clearFaults();
      await untilStatus(service, first.body.data.id, 'completed');
      const refused = await untilStatus(service, second.body.data.id, 'failed');
      expect(refused).toMatchObject({ failureCode: 'amount_too_large', attemptCount: 0 });
    });

    test('cancels a refund at once while its processor is down and never sends it', async () => {
      const transactionId = await payment(processor);
      await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
      const { body } = await create(transactionId, { processor }, async);
      const cancelled = await service.call('POST', `/v1/refunds/${body.data.id}/cancel`);
      expect(cancelled.status).toBe(200);
      expect(cancelled.body.data.status).toBe('cancelled');
      await service.sandbox.clearFaults();
      await waitFor('its work to end', async () => (await rowOf(service, body.data.id)).dueAt === null);
      expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
    });

    test('waits with a cancellation for the answer to a running submission', async () => {
      const transactionId = await payment(processor);
      await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'delay', delayMs: 300 });
      const { body } = await create(transactionId, {}, async);
      await waitFor(
        'the refund to be on its way',
        async () => (await rowOf(service, body.data.id)).attemptCount === 1,
      );
      const { status } = await service.call('POST', `/v1/refunds/${body.data.id}/cancel`);
      expect(await timelineOf(service, body.data.id)).toContain('attempt.accepted');
      const { status: refundStatus } = await rowOf(service, body.data.id);
      expect(
        status === 200 ? refundStatus === 'cancelled' : status === 409 && refundStatus !== 'cancelled',
      ).toBe(true);
    });

    test('answers a rejection with an error and releases the reservation', async () => {
      const transactionId = await payment(processor, {
        id: `${processor === 'stripe' ? 'ch_' : 'sale_'}declined_${Date.now()}`,
      });
      const { status, body } = await create(transactionId, { processor });
      expect({ status, code: body.error.code }).toEqual({ status: 502, code: 'processor_error' });
      const { body: listed } = await service.call('GET', '/v1/refunds?status=failed&limit=1');
      expect(listed.data[0]).toMatchObject({ transactionId, status: 'failed' });
      const { reserved } = await service.deps.db.payment.findFirstOrThrow({
        where: { names: { some: { name: transactionId } } },
      });
      expect(reserved).toBe(0n);
    });

    test('flags a refund whose credentials are refused and continues with new ones', async () => {
      const { id: organizationId, keys } = await service.addOrganization(
        'With credentials that are withdrawn',
      );
      const key = keys.test.plaintext;
      const good = sandboxCredentials('test', service.sandboxUrl)[processor];
      const bad =
        'secretKey' in good ? { ...good, secretKey: 'sk_test_invalid' } : { ...good, publicKey: 'invalid' };
      const setCredentials = async (credentials: object) =>
        await setProcessorAccount(service.deps, {
          organizationId,
          environment: 'test',
          processor,
          credentials,
          actor: 'test',
        });
      const transactionId = await payment(processor);
      const body = { transactionId, amount: 100, reason: 'other', processor };
      const first = await service.call('POST', '/v1/refunds', { key, body });
      expect(first.status).toBe(200);
      await setCredentials(bad);
      const second = await service.call('POST', '/v1/refunds', { key, body, headers: async });
      const kept = await waitFor('the refund to be flagged', async () => {
        const refund = await rowOf(service, second.body.data.id);
        return refund.flaggedAt === null ? null : refund;
      });
      expect(kept).toMatchObject({ status: 'processing', unknownSince: null });
      expect(kept.attempts.map(({ outcome }) => outcome)).toContain('misconfigured');
      await setCredentials(good);
      const completed = await untilStatus(service, kept.id, 'completed');
      expect(completed).toMatchObject({ flaggedAt: null, flagReason: null });
      await untilStatus(service, first.body.data.id, 'completed');
    });
  });

  test('voids an unsettled Braintree sale for a full refund and completes at once', async () => {
    const transactionId = await payment('braintree', { status: 'submitted_for_settlement' });
    const { body } = await create(transactionId, { amount: 10_000 });
    expect(body.data.externalRefundId).toBe(transactionId);
    const refund = await untilStatus(service, body.data.id, 'completed');
    expect(refund.processorStatus).toBe('voided');
  });

  test('delays a partial refund of a Braintree sale until it has settled', async () => {
    const transactionId = await payment('braintree', { status: 'submitted_for_settlement' });
    const { body } = await create(transactionId, {}, async);
    await waitFor('the processor to say no', async () =>
      (await timelineOf(service, body.data.id)).includes('attempt.unavailable'),
    );
    expect((await rowOf(service, body.data.id)).status).toBe('processing');
    await service.sandbox.changeTransaction(transactionId, { status: 'settled' });
    await makeDue(service, body.data.id);
    await untilStatus(service, body.data.id, 'completed');
  });

  test('waits for a change when a client asks for a refund with Prefer: wait', async () => {
    await service.sandbox.settings({ autoSettleMs: 400 });
    const { body } = await create(await payment('stripe'));
    const { body: waited, headers } = await service.call('GET', `/v1/refunds/${body.data.id}`, {
      headers: { prefer: 'wait=10' },
    });
    expect(waited.data.status).toBe('completed');
    expect(headers['preference-applied']).toBe('wait=10');
  });

  test('a worker finds a refund whose wake-up was lost', async () => {
    const wake = vi.spyOn(service.deps.queues, 'wake').mockImplementationOnce(() => {});
    onTestFinished(() => wake.mockRestore());
    const { body } = await create(await payment('stripe'), {}, async);
    expect(wake).toHaveBeenCalled();
    await untilStatus(service, body.data.id, 'completed');
  });

  test('fails a refund that could not be sent before the retry deadline', async () => {
    const transactionId = await payment('stripe');
    await service.sandbox.fault({
      processor: 'stripe',
      operation: 'refund.create',
      kind: 'rate-limit',
      times: null,
    });
    const { body } = await create(transactionId, {}, async);
    await waitFor('the first try', async () => (await rowOf(service, body.data.id)).retryingSince);
    const old = new Date(Date.now() - service.settings.RETRY_DEADLINE_MS - 1000);
    await service.deps.db.refundWork.update({
      where: { refundId: body.data.id },
      data: { retryingSince: old },
    });
    const refund = await untilStatus(service, body.data.id, 'failed');
    expect(refund.failureCode).toBe('processor_unavailable');
    expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
  });

  test('counts the retry deadline from the first failure, not from the creation', async () => {
    const transactionId = await payment('stripe');
    // The deadline is checked when a retry fails.
    await service.sandbox.fault({
      processor: 'stripe',
      operation: 'refund.create',
      kind: 'rate-limit',
      times: null,
    });
    const { body } = await create(transactionId, {}, async);
    const old = new Date(Date.now() - service.settings.RETRY_DEADLINE_MS - 1000);
    await service.deps.db.refund.update({ where: { id: body.data.id }, data: { createdAt: old } });
    const { attemptCount } = await rowOf(service, body.data.id);
    await waitFor(
      'two more attempts',
      async () => (await rowOf(service, body.data.id)).attemptCount >= attemptCount + 2,
    );
    await service.sandbox.clearFaults();
    await untilStatus(service, body.data.id, 'completed');
  });

  test('finds a void that was applied late instead of marking it failed', async () => {
    const transactionId = await payment('braintree', { status: 'submitted_for_settlement' });
    await service.sandbox.fault({ processor: 'braintree', operation: 'refund.create', kind: 'rate-limit' });
    const { body } = await create(transactionId, { amount: 10_000 }, async);
    await waitFor('the first attempt', async () =>
      (await timelineOf(service, body.data.id)).includes('attempt.unavailable'),
    );
    await braintreeClient(service.sandboxUrl).transactions.void(transactionId);
    await untilStatus(service, body.data.id, 'completed');
    expect(await timelineOf(service, body.data.id)).toContain('lookup.found');
  });

  test('refuses a refund in a currency other than that of the payment and reserves nothing', async () => {
    const transactionId = await payment('stripe', { currency: 'eur' });
    expect((await create(transactionId, { currency: 'eur', amount: 100 })).status).toBe(200);
    const { organization, deps } = service;
    const { payment: _, ...asked } = creationOf({ organizationId: organization.id, environment: 'test' });
    const answer = await deps.statements.create({ ...asked, transactionId });
    expect(answer).toMatchObject({ outcome: 'refused', refund: null, payment: { currency: 'eur' } });
    const { reserved } = await deps.db.payment.findFirstOrThrow({
      where: { names: { some: { name: transactionId } } },
    });
    expect(reserved).toBe(100n);
  });

  test('refuses to cancel a refund with a different amount, and does not complete it', async () => {
    // Nothing settles before the amount on record is another one.
    await service.sandbox.settings({ autoSettleMs: null });
    const { body } = await create(await payment('stripe'));
    await service.deps.db.$executeRaw`UPDATE refund SET amount = 2499 WHERE id = ${body.data.id}`;
    await waitFor('the refund to be flagged', async () => (await rowOf(service, body.data.id)).flaggedAt);
    const cancelled = await service.call('POST', `/v1/refunds/${body.data.id}/cancel`, {
      headers: { prefer: 'wait=1' },
    });
    expect(cancelled.status).toBe(409);
    expect((await rowOf(service, body.data.id)).status).toBe('processing');
    await service.sandbox.settings({ autoSettleMs: 100 });
    await service.deps.db.$executeRaw`UPDATE refund SET amount = 2500 WHERE id = ${body.data.id}`;
    await makeDue(service, body.data.id);
    await waitFor(
      'the refund to end',
      async () => (await rowOf(service, body.data.id)).status !== 'processing',
    );
  });

  test('flags a refund with a different amount at the processor and does not complete it until they agree', async () => {
    await service.sandbox.settings({ autoSettleMs: null });
    const { body } = await create(await payment('stripe'));
    await service.deps.db.$executeRaw`UPDATE refund SET amount = 2499 WHERE id = ${body.data.id}`;
    const flagged = await waitFor('the refund to be flagged', async () => {
      const refund = await rowOf(service, body.data.id);
      return refund.flaggedAt === null ? null : refund;
    });
    expect(flagged.status).toBe('processing');
    expect(flagOf(flagged)).toMatchObject({
      reason: 'amount_differs',
      facts: { externalRefundId: flagged.externalRefundId, amount: 2_500, expectedAmount: 2_499 },
    });
    await service.sandbox.settings({ autoSettleMs: 100 });
    await service.deps.db.$executeRaw`UPDATE refund SET amount = 2500 WHERE id = ${body.data.id}`;
    await makeDue(service, body.data.id);
    await untilStatus(service, body.data.id, 'completed');
  });
});
