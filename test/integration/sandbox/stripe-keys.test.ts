import Stripe from 'stripe';
import { describe, expect, test, vi } from 'vitest';
import { stripeClient } from '../../sandbox/clients.ts';
import { madeBeforeTests } from '../../support/made-before-tests.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

const { sandbox, control } = useSandbox({ autoSettle: false });
const stripe = madeBeforeTests('The client', () => stripeClient(sandbox.url));

/** A payment of 50.00 USD by card. */
const card = (id: string, more: Record<string, unknown> = {}) =>
  control.transaction({ processor: 'stripe', id, amount: 5000, currency: 'usd', ...more });

/** What the SDK throws. @throws what else comes of it, a result as well. */
async function failureOf(promise: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const error = await promise.then(
    () => new Error('resolved'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  return error;
}

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
