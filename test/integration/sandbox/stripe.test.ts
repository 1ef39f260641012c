import type Stripe from 'stripe';
import { afterEach, describe, expect, test } from 'vitest';
import { braintreeClient, stripeClient } from '../../sandbox/clients.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { waitFor } from '../../support/wait-for.ts';

// What Stripe's documents say of refunds, keys and limits, against the sandbox.

const { sandbox, control } = useSandbox();

const usual = {
  autoSettleMs: 50,
  rateLimits: { perOperation: null, perAccount: null },
  insufficientBalance: null,
};
afterEach(() => control.settings(usual));

const stripe = (key?: string) => stripeClient(sandbox.url, key);

const charge = (fields: Record<string, unknown> = {}) =>
  control.transaction({ processor: 'stripe', amount: 5_000, currency: 'usd', ...fields });

const refund = async (fields: Record<string, unknown> = {}) =>
  await stripe().refunds.create({ charge: await charge(fields), amount: 100 });

/** What Stripe says when it refuses, with the headers that matter. */
async function refusal(asked: Promise<unknown>) {
  const error = await asked.then(
    () => null,
    (thrown: Stripe.errors.StripeError) => thrown,
  );
  if (error === null) return null;
  const { statusCode, code, message, headers, raw } = error;
  const { 'retry-after': retryAfter, 'stripe-rate-limited-reason': limitedBy } = headers ?? {};
  return { statusCode, code, message, retryAfter, limitedBy, raw: raw as Record<string, unknown> };
}

const untilStatus = async (id: string, status: string) =>
  await waitFor(status, async () => {
    const read = await stripe().refunds.retrieve(id);
    return read.status === status ? read : null;
  });

describe('a refund', () => {
  test('of a card succeeds in the answer, also of a payment that was never set up', async () => {
    const card = { type: 'card', card: { reference_status: 'pending', type: 'refund' } };
    expect(await refund()).toMatchObject({ status: 'succeeded', destination_details: card });
    expect(await stripe().refunds.create({ charge: 'ch_neverSeen' })).toMatchObject({ status: 'succeeded' });
  });

  test('of the test card 4000000000007726 is pending, then succeeds', async () => {
    const { id, status, pending_reason } = await refund({ card: '4000000000007726' });
    expect([status, pending_reason]).toEqual(['pending', 'processing']);
    await untilStatus(id, 'succeeded');
  });

  test('of the test card 4000000000005126 succeeds, then fails', async () => {
    const { id, status } = await refund({ card: '4000000000005126' });
    expect(status).toBe('succeeded');
    expect(await untilStatus(id, 'failed')).toMatchObject({ failure_reason: 'unknown' });
  });

  test('of a bank transfer asks the customer, and can be cancelled', async () => {
    await control.settings({ autoSettleMs: null });
    const { id } = await stripe().refunds.create({
      ...{ charge: 'py_transfer_1', instructions_email: 'jane@example.com' },
    });
    const next_action = { type: 'display_details', display_details: { email_sent: expect.any(Object) } };
    expect(await stripe().refunds.retrieve(id)).toMatchObject({ status: 'requires_action', next_action });
    expect(await stripe().refunds.cancel(id)).toMatchObject({ status: 'canceled' });
  });

  test('of a pending charge waits until the charge has succeeded', async () => {
    const paid = await charge({ status: 'pending', paymentMethod: 'us_bank_account' });
    const { id } = await stripe().refunds.create({ charge: paid });
    await control.settings({ autoSettleMs: 1 });
    expect(await stripe().refunds.retrieve(id)).toMatchObject({ pending_reason: 'charge_pending' });
    await control.changeTransaction(paid, { status: 'succeeded' });
    await untilStatus(id, 'succeeded');
  });

  test('that the balance does not cover waits until it is topped up', async () => {
    await control.settings({ autoSettleMs: 1, insufficientBalance: 'pending' });
    const { id } = await refund();
    expect(await stripe().refunds.retrieve(id)).toMatchObject({
      ...{ status: 'pending', pending_reason: 'insufficient_funds' },
    });
    await control.settings({ insufficientBalance: null });
    await untilStatus(id, 'succeeded');
  });

  test('that the balance does not cover is refused without a code by some accounts', async () => {
    await control.settings({ insufficientBalance: 'refused' });
    expect(await refusal(refund())).toMatchObject({
      ...{ statusCode: 400, code: undefined, message: expect.stringContaining('Insufficient funds') },
      raw: { message_code: 'insufficient_balance_for_refund' },
    });
  });
});

describe('a restricted key', () => {
  const calls = {
    charge_read: (client: Stripe) => client.charges.retrieve('ch_restricted'),
    payment_intent_read: (client: Stripe) => client.paymentIntents.retrieve('pi_restricted'),
    dispute_read: (client: Stripe) => client.disputes.list({ charge: 'ch_restricted' }),
    refund_read: (client: Stripe) => client.refunds.list({ charge: 'ch_restricted' }),
    refund_write: (client: Stripe) => client.refunds.create({ charge: 'ch_restricted', amount: 1 }),
  };
  type Permission = keyof typeof calls;
  const permissions = Object.keys(calls) as Permission[];
  const refused = async (key: string) => {
    const answers = await Promise.all(permissions.map((each) => refusal(calls[each](stripe(key)))));
    return permissions.filter((_, index) => answers[index] !== null);
  };

  test.each(permissions)('without %s is refused what needs it, with its name', async (missing) => {
    const key = `rk_test_without_${missing}`;
    // Who may not read refunds may not write them either.
    expect(await refused(key)).toEqual(
      missing === 'refund_read' ? ['refund_read', 'refund_write'] : [missing],
    );
    expect(await refusal(calls[missing](stripe(key)))).toMatchObject({
      statusCode: 403,
      message: expect.stringMatching(
        new RegExp(
          `^The provided key 'rk_test_\\*+\\w+' does not have the required permissions for this endpoint on account 'acct_\\w+'\\. Having the 'rak_${missing}' permission would allow this request to continue\\.$`,
        ),
      ),
    });
  });

  test('may do what its name says, and read what it may write', async () => {
    expect(await refused('rk_test_charge_read_refund_write')).toEqual([
      'payment_intent_read',
      'dispute_read',
    ]);
  });
});

describe('a request', () => {
  test('above the rate of its operation gets 429 with the reason, and no time to come back', async () => {
    await control.settings({ rateLimits: { perOperation: 1, perAccount: null } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => refusal(stripe('sk_test_limited').charges.retrieve('ch_limited'))),
    );
    const reason = { statusCode: 429, code: 'rate_limit', retryAfter: undefined, limitedBy: 'endpoint-rate' };
    expect(answers.find((answer) => answer !== null)).toMatchObject(reason);
    // Another operation, and another account.
    expect(await refusal(stripe('sk_test_limited').refunds.list({ charge: 'ch_limited' }))).toBeNull();
    expect(await refusal(stripe('sk_test_other').charges.retrieve('ch_limited'))).toBeNull();
  });

  test('above the rate of its account gets 429, whatever its operation', async () => {
    await control.settings({ rateLimits: { perOperation: null, perAccount: 1 } });
    const client = stripe('sk_test_limitedInAll');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        refusal(index % 2 === 0 ? client.charges.retrieve('ch_limited') : client.refunds.list()),
      ),
    );
    expect(answers.find((answer) => answer !== null)).toMatchObject({ limitedBy: 'global-rate' });
  });

  test('that requires approval is carried out by Stripe itself once it was approved', async () => {
    await control.fault({ processor: 'stripe', operation: 'refund.create', kind: 'approval', times: 2 });
    for (const id of ['ch_approved', 'ch_denied']) {
      const held = refusal(stripe().refunds.create({ charge: id }));
      expect(await held).toMatchObject({ statusCode: 402, code: 'approval_required' });
      expect(await control.refunds({ transactionId: id })).toEqual([]);
    }
    const [first, second] = await control.approvals();
    await control.decide(first?.id ?? '', 'approved');
    await control.decide(second?.id ?? '', 'denied');
    expect(await control.refunds({ transactionId: 'ch_approved' })).toHaveLength(1);
    expect(await control.refunds({ transactionId: 'ch_denied' })).toEqual([]);
    expect(await control.approvals()).toEqual([]);
  });

  test('gets any error that it is given', async () => {
    const error = { status: 429, code: 'lock_timeout', message: 'Locked.', headers: { 'retry-after': '7' } };
    await control.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error', error });
    expect(await refusal(refund())).toMatchObject({
      ...{ statusCode: 429, code: 'lock_timeout', message: 'Locked.' },
      ...{ retryAfter: '7', limitedBy: undefined },
    });
    expect(await refusal(refund())).toBeNull();
    const refused = { status: 422, code: '915235', message: 'Server error.' };
    await control.fault({
      processor: 'braintree',
      operation: 'refund.create',
      kind: 'error',
      error: refused,
    });
    const reply = await braintreeClient(sandbox.url).transactions.refund('anySale');
    expect(reply.errors.deepErrors()).toMatchObject([{ code: '915235', message: 'Server error.' }]);
  });
});
