import type Stripe from 'stripe';
import { describe, expect, test, vi } from 'vitest';
import { stripeClient } from '../../sandbox/clients.ts';
import { failureOf, useStripeSandbox } from '../../support/processors/stripe-sandbox.ts';

const { clock, sandbox, control, stripe, card } = useStripeSandbox();

const replayed = (refund: Stripe.Response<Stripe.Refund>) =>
  (refund.lastResponse.headers as unknown as Headers).get('idempotent-replayed');

describe('Stripe idempotency keys', () => {
  test('replay a stored 500 although the refund was made', async () => {
    await card('ch_stored500');
    await control.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error-500-after-apply' });
    const once = () =>
      stripe.refunds.create({ charge: 'ch_stored500', amount: 100 }, { idempotencyKey: 'stored500' });
    expect(await failureOf(once())).toMatchObject({ type: 'StripeAPIError', statusCode: 500 });
    expect(await failureOf(once())).toMatchObject({ type: 'StripeAPIError', statusCode: 500 });
    expect(await control.refunds({ transactionId: 'ch_stored500' })).toHaveLength(1);
    expect((await stripe.refunds.list({ charge: 'ch_stored500' })).data).toHaveLength(1);
  });

  test('replay a refusal even after its reason has disappeared', async () => {
    await card('ch_stored400', { status: 'uncaptured' });
    const once = (idempotencyKey: string) =>
      stripe.refunds.create({ charge: 'ch_stored400' }, { idempotencyKey });
    expect(await failureOf(once('stored400'))).toMatchObject({ code: 'charge_not_refundable' });
    await control.changeTransaction('ch_stored400', { status: 'succeeded' });
    expect(await failureOf(once('stored400'))).toMatchObject({ code: 'charge_not_refundable' });
    expect(await once('stored400-again')).toMatchObject({ amount: 5000 });
  });

  test('stay unused after bad parameters, a rate limit and a 500 before work began', async () => {
    await card('ch_unused');
    const once = (amount: number) =>
      stripe.refunds.create({ charge: 'ch_unused', amount }, { idempotencyKey: 'unused' });
    expect(await failureOf(once(-1))).toMatchObject({ param: 'amount' });
    for (const kind of ['rate-limit', 'error-500', 'error-503']) {
      await control.fault({ processor: 'stripe', operation: 'refund.create', kind });
      await failureOf(once(100));
    }
    expect(await control.refunds({ transactionId: 'ch_unused' })).toEqual([]);
    expect(replayed(await once(100))).toBeNull();
  });

  test('are in use while the first request is in progress', async () => {
    await card('ch_inUse');
    await control.fault({ processor: 'stripe', operation: 'refund.create', kind: 'delay', delayMs: 1000 });
    const once = () =>
      stripe.refunds.create({ charge: 'ch_inUse', amount: 100 }, { idempotencyKey: 'inUse' });
    const first = once();
    await vi.waitFor(async () =>
      expect(await control.refunds({ transactionId: 'ch_inUse' })).toHaveLength(1),
    );
    expect(await failureOf(once())).toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' });
    expect(replayed(await first)).toBeNull();
    expect(replayed(await once())).toBe('true');
  });

  test('of two accounts do not collide', async () => {
    await card('ch_twoAccounts');
    const params = { charge: 'ch_twoAccounts', amount: 100 };
    await stripe.refunds.create(params, { idempotencyKey: 'shared' });
    await stripeClient(sandbox.url, 'sk_test_other').refunds.create(params, { idempotencyKey: 'shared' });
    expect(await control.refunds({ transactionId: 'ch_twoAccounts' })).toHaveLength(2);
  });
});

describe('a Stripe refund', () => {
  test('keeps metadata and reason, and the control API lists its key', async () => {
    await card('ch_meta');
    const metadata = { refund_id: 'ref 1/ä' };
    const params: Stripe.RefundCreateParams = {
      charge: 'ch_meta',
      amount: 100,
      reason: 'duplicate',
      metadata,
    };
    const { id } = await stripe.refunds.create(params);
    const expected = { id, object: 'refund', status: 'pending', reason: 'duplicate', charge: 'ch_meta' };
    const refund = await stripe.refunds.retrieve(id);
    expect(refund).toMatchObject({ ...expected, payment_intent: 'pi_meta', amount: 100, currency: 'usd' });
    expect(refund.metadata?.refund_id).toBe('ref 1/ä');
    expect(await control.refunds({ transactionId: 'ch_meta' })).toEqual([
      {
        id,
        transactionId: 'ch_meta',
        amount: 100,
        currency: 'usd',
        status: 'pending',
        key: 'ref 1/ä',
        createdAt: new Date(clock.ms).toISOString(),
      },
    ]);
    expect(await failureOf(stripe.refunds.retrieve('re_unknown'))).toMatchObject({
      code: 'resource_missing',
    });
  });

  test('settles after autoSettleMs, and not when that is null', async () => {
    await card('ch_settles');
    const { id } = await stripe.refunds.create({ charge: 'ch_settles', amount: 100 });
    clock.ms += 1499;
    expect((await stripe.refunds.retrieve(id)).status).toBe('pending');
    await control.settings({ autoSettleMs: null });
    clock.ms += 3_600_000;
    expect((await stripe.refunds.retrieve(id)).status).toBe('pending');
    await control.settings({ autoSettleMs: 1500 });
    expect((await stripe.refunds.retrieve(id)).status).toBe('succeeded');
  });

  test('can be cancelled only in requires_action, which releases its amount', async () => {
    await card('ch_cancel', { paymentMethod: 'customer_balance' });
    const { id } = await stripe.refunds.create({ charge: 'ch_cancel', amount: 5000 });
    expect((await stripe.refunds.cancel(id)).status).toBe('canceled');
    expect(await failureOf(stripe.refunds.cancel(id))).toMatchObject({
      statusCode: 400,
      rawType: 'invalid_request_error',
    });
    expect((await stripe.charges.retrieve('ch_cancel')).amount_refunded).toBe(0);
    await card('ch_cancelCard');
    const pending = await stripe.refunds.create({ charge: 'ch_cancelCard' });
    expect(await failureOf(stripe.refunds.cancel(pending.id))).toMatchObject({ statusCode: 400 });
    const waiting = await stripe.refunds.create({ charge: 'ch_cancel' });
    clock.ms += 1500;
    expect(await failureOf(stripe.refunds.cancel(waiting.id))).toMatchObject({ statusCode: 400 });
  });

  test('that was set to failed has a reason, stays failed, and releases its amount', async () => {
    await card('ch_fails');
    const { id } = await stripe.refunds.create({ charge: 'ch_fails' });
    await control.driveRefund(id, { status: 'failed', failureReason: 'expired_or_canceled_card' });
    clock.ms += 60_000;
    const failed = await stripe.refunds.retrieve(id);
    expect(failed).toMatchObject({ status: 'failed', failure_reason: 'expired_or_canceled_card' });
    expect((await stripe.charges.retrieve('ch_fails')).refunded).toBe(false);
    await stripe.refunds.create({ charge: 'ch_fails' });
    const moved = await control.refunds({ transactionId: 'ch_fails' });
    expect(moved.map((refund) => refund.status)).toEqual(['failed', 'pending']);
  });

  test('is listed newest first, in pages', async () => {
    await card('ch_list');
    for (const amount of [1, 2, 3]) await stripe.refunds.create({ charge: 'ch_list', amount });
    const page = await stripe.refunds.list({ charge: 'ch_list', limit: 2 });
    expect([page.data.map((refund) => refund.amount), page.has_more]).toEqual([[3, 2], true]);
    const last = page.data[1]?.id ?? '';
    const next = await stripe.refunds.list({ payment_intent: 'pi_list', limit: 2, starting_after: last });
    expect([next.data.map((refund) => refund.amount), next.has_more]).toEqual([[1], false]);
    const all: number[] = [];
    for await (const refund of stripe.refunds.list({ charge: 'ch_list', limit: 1 })) all.push(refund.amount);
    expect(all).toEqual([3, 2, 1]);
    expect(await failureOf(stripe.refunds.list({ charge: 'ch_list', limit: 101 }))).toMatchObject({
      param: 'limit',
    });
    expect(await failureOf(stripe.refunds.list({ charge: 'ch_missing' }))).toMatchObject({
      code: 'resource_missing',
    });
  });
});
