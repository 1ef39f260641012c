import { afterEach, describe, expect, test } from 'vitest';
import { claimRefund } from '../../../../shared/refunds/lifecycle/claim.ts';
import { PROCESSORS } from '../../../sandbox/ledger/ledger.ts';
import { advanceRefund } from '../../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../../support/refunds/invariants.ts';
import { lockPaymentByName, newPayment } from '../../../support/refunds/payments.ts';
import { makeDue, rowOf } from '../../../support/refunds/refund-records.ts';
import { testedBackends } from '../../../support/release.ts';
import { withClient } from '../../../support/stores/database-client.ts';
import { useService } from '../../../support/use-service.ts';
import { waitFor } from '../../../support/wait-for.ts';

describe.each(testedBackends)('at the same time, queues on $name', (backend) => {
  // Many read their payments at the same time here; none of them is to go on without having read it.
  const service = useService({ backend, workers: 2, settings: { TRANSACTION_READ_TIMEOUT_MS: 60_000 } });

  afterEach(async () => {
    await service.sandbox.clearFaults();
    await expectInvariants(service);
  });

  const payment = async (processor: string, options = {}) =>
    await newPayment(service, { processor, ...options });

  async function create(transactionId: string, amount: number, headers: Record<string, string> = {}) {
    const body = { transactionId, amount, reason: 'other' };
    return await service.call('POST', '/v1/refunds', { body, headers });
  }

  const respondAsync = { prefer: 'respond-async' };

  async function allEnd(): Promise<void> {
    await waitFor(
      'all refunds to end',
      async () => (await service.deps.db.refund.count({ where: { status: 'processing' } })) === 0,
    );
  }

  test.each(PROCESSORS)(
    'of thirty creations of a fifth of a %s payment exactly five are accepted and five move',
    async (processor) => {
      const transactionId = await payment(processor);
      const answers = await Promise.all(Array.from({ length: 30 }, () => create(transactionId, 2_000)));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(5);
      expect(new Set(statuses)).toEqual(new Set([200, 409]));
      await allEnd();
      const moved = await service.sandbox.refunds({ transactionId });
      expect(moved.map(({ amount }) => amount)).toEqual([2_000, 2_000, 2_000, 2_000, 2_000]);
    },
  );

  test('refuses in the database to reserve more than was paid', async () => {
    const transactionId = await payment('stripe');
    await create(transactionId, 2_000);
    const reserveTooMuch = service.deps.db.$executeRaw`
      UPDATE payment SET reserved = amount + 1 WHERE id IN (SELECT payment_id FROM payment_name WHERE name = ${transactionId})`;
    await expect(reserveTooMuch).rejects.toThrow(/payment_not_over_refunded/);
    await allEnd();
  });

  test('creates one refund for ten concurrent requests with one idempotency key', async () => {
    const transactionId = await payment('stripe');
    const headers = { 'idempotency-key': `race-${transactionId}` };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => create(transactionId, 1_000, headers)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const ids = new Set(answers.map(({ body }) => body.data.id));
    expect(ids.size).toBe(1);
    const carriedOut = answers.filter((answer) => answer.headers['idempotent-replayed'] === undefined);
    expect(carriedOut).toHaveLength(1);
    const again = await create(transactionId, 1_000, headers);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect([...ids]).toEqual([again.body.data.id]);
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(1);
    await allEnd();
  });

  test.each(PROCESSORS)(
    'a cancellation that races with the submission to %s never says cancelled of money that moved',
    async (processor) => {
      for (let round = 0; round < 12; round += 1) {
        const transactionId = await payment(processor, { paymentMethod: 'card' });
        const { body } = await create(transactionId, 1_000, { prefer: 'respond-async' });
        const { id } = body.data;
        const cancelled = await service.call('POST', `/v1/refunds/${id}/cancel`);
        const moved = (await service.sandbox.refunds({ transactionId })).filter(
          ({ status }) => status !== 'voided',
        );
        if (cancelled.status === 200) expect(moved).toEqual([]);
        else expect(cancelled.body.error.code).toBe('refund_not_cancellable');
      }
      await allEnd();
    },
  );

  test('lets one of several concurrent workers send a refund', async () => {
    const transactionId = await payment('braintree');
    await service.sandbox.fault({
      processor: 'braintree',
      operation: 'refund.create',
      kind: 'delay',
      delayMs: 200,
    });
    const { body } = await create(transactionId, 1_000, { prefer: 'respond-async' });
    const { id } = body.data;
    await Promise.all(Array.from({ length: 8 }, () => advanceRefund(service.deps, id)));
    await allEnd();
    expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
    expect((await rowOf(service, id)).attemptCount).toBe(1);
  });

  test('grants one of several concurrent claims, and none during a lease', async () => {
    const transactionId = await payment('stripe');
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    const { body } = await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 1_000, reason: 'other' },
      headers: { prefer: 'respond-async' },
    });
    const { id } = body.data;
    await waitFor('a moment without a lease', async () => {
      await makeDue(service, id);
      const claims = await Promise.all(Array.from({ length: 6 }, () => claimRefund(service.deps, id)));
      const winners = claims.filter((claim) => claim !== null);
      expect(winners.length).toBeLessThanOrEqual(1);
      return winners[0];
    });
    await makeDue(service, id);
    expect(await claimRefund(service.deps, id)).toBeNull();
    await service.deps.db.refundWork.update({ where: { refundId: id }, data: { leasedUntil: null } });
    await service.sandbox.clearFaults();
    await allEnd();
  });

  test('delays only the creations of a payment that another session has locked', async () => {
    const [held, free] = [await payment('stripe'), await payment('stripe')];
    for (const transactionId of [held, free]) await create(transactionId, 100, respondAsync);
    const waiting = await withClient(service.databaseUrl, async (holder) => {
      await holder.query('begin');
      await holder.query(lockPaymentByName, [held]);
      let answered = 0;
      const creating = Array.from({ length: 20 }, async () => {
        const answer = await create(held, 100, respondAsync);
        answered += 1;
        return answer;
      });
      const others = await Promise.all(Array.from({ length: 20 }, () => create(free, 100, respondAsync)));
      expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
      expect(answered).toBe(0);
      await holder.query('commit');
      return creating;
    });
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await allEnd();
  });

  test('cancels once for two concurrent cancellations', async () => {
    const transactionId = await payment('stripe', { paymentMethod: 'customer_balance' });
    await service.sandbox.settings({ autoSettleMs: null });
    const { body } = await create(transactionId, 1_000);
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => service.call('POST', `/v1/refunds/${body.data.id}/cancel`)),
    );
    expect(answers.map(({ status }) => status)).toContain(200);
    const cancellations = await service.deps.db.refundEvent.count({
      where: { refundId: body.data.id, type: 'refund.cancelled' },
    });
    expect(cancellations).toBe(1);
    await service.sandbox.settings({ autoSettleMs: 100 });
  });

  test('never reserves more than was paid while a payment is refunded and read concurrently', async () => {
    const transactionId = await payment('stripe');
    const amounts = Array.from({ length: 40 }, (_, index) => 300 + ((index * 137) % 900));
    const answers = await Promise.all(amounts.map((amount) => create(transactionId, amount)));
    const accepted = answers.filter(({ status }) => status === 200);
    const sum = accepted.reduce((total, { body }) => total + body.data.amount, 0);
    expect(sum).toBeLessThanOrEqual(10_000);
    // What is left fits none of those that were refused.
    const refused = amounts.filter((_, index) => answers[index]?.status !== 200);
    expect(sum).toBeGreaterThan(10_000 - Math.min(...refused));
    await allEnd();
  });
});
