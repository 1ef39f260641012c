import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { stripeClient } from '../../sandbox/clients.ts';
import { failureOf, useStripeSandbox } from '../../support/processors/stripe-sandbox.ts';

const { clock, sandbox, control, stripe, card } = useStripeSandbox();

describe('Stripe payments', () => {
  test('an unknown id is a payment of 100.00 USD made yesterday whose refunds require action', async () => {
    const charge = await stripe.charges.retrieve('ch_neverSeen');
    expect(charge).toMatchObject({
      amount: 10_000,
      currency: 'usd',
      created: (clock.ms - 86_400_000) / 1000,
    });
    const refund = await stripe.refunds.create({ payment_intent: 'pi_neverSeenEither' });
    expect(refund).toMatchObject({ amount: 10_000, status: 'requires_action', charge: 'ch_neverSeenEither' });
  });

  test('an id that contains missing or has another form does not exist', async () => {
    const missing = await failureOf(stripe.charges.retrieve('ch_missing'));
    expect(missing).toMatchObject({
      statusCode: 404,
      code: 'resource_missing',
      message: "No such charge: 'ch_missing'",
    });
    for (const create of [
      { charge: 'pi_someIntent' },
      { charge: 'xx_abc' },
      { payment_intent: 'pi_missing' },
    ]) {
      expect(await failureOf(stripe.refunds.create(create))).toMatchObject({ code: 'resource_missing' });
    }
  });

  test('amounts use hundredths for krona and shilling, whole ariary, and tens of fils for dinars', async () => {
    await card('ch_isk', { amount: 500, currency: 'isk' });
    await card('ch_mga', { amount: 1200, currency: 'mga' });
    await card('ch_kwd', { amount: 12_340, currency: 'kwd' });
    expect((await stripe.charges.retrieve('ch_isk')).amount).toBe(50_000);
    expect((await stripe.charges.retrieve('ch_mga')).amount).toBe(12);
    await stripe.refunds.create({ charge: 'ch_isk', amount: 20_000 });
    expect(await control.refunds({ transactionId: 'ch_isk' })).toMatchObject([
      { amount: 200, currency: 'isk' },
    ]);
    expect(await failureOf(stripe.refunds.create({ charge: 'ch_kwd', amount: 1005 }))).toMatchObject({
      param: 'amount',
    });
    await expect(card('ch_kwd2', { amount: 12_345, currency: 'kwd' })).rejects.toThrow(/400.*cannot express/);
  });
});

describe('Stripe credentials', () => {
  test.each(['sk_test_invalid', 'pk_test_123', 'nonsense'])('refuses %s as a key', async (key) => {
    const error = await failureOf(stripeClient(sandbox.url, key).accounts.retrieveCurrent());
    expect(error).toBeInstanceOf(Stripe.errors.StripeAuthenticationError);
    expect(error.requestId).toMatch(/^req_/);
  });

  test('answers a forbidden key with 403, and a valid one with account and balance', async () => {
    const error = await failureOf(stripeClient(sandbox.url, 'sk_test_forbidden').balance.retrieve());
    expect(error).toBeInstanceOf(Stripe.errors.StripePermissionError);
    expect((await stripe.accounts.retrieveCurrent()).object).toBe('account');
    expect((await stripe.balance.retrieve()).livemode).toBe(false);
  });
});

describe('a Stripe payment captured in parts', () => {
  test('is captured with its last part, and has the amount captured until then', async () => {
    await card('ch_parts', { status: 'uncaptured', capturedAmount: 1000 });
    const shown = async () => await stripe.paymentIntents.retrieve('pi_parts', { expand: ['latest_charge'] });
    expect(await shown()).toMatchObject({
      ...{ status: 'requires_capture', amount: 5000, amount_capturable: 4000, amount_received: 1000 },
      latest_charge: { amount: 5000, amount_captured: 1000, captured: false, refunded: false },
    });
    await control.changeTransaction('ch_parts', { status: 'succeeded', capturedAmount: 3000 });
    expect(await shown()).toMatchObject({
      ...{ status: 'succeeded', amount: 5000, amount_capturable: 0, amount_received: 3000 },
      latest_charge: { amount: 5000, amount_captured: 3000, amount_refunded: 0, captured: true },
    });
  });

  test.each([
    ['so far', { status: 'uncaptured', capturedAmount: 3000 }, 3000, false],
    ['in part', { capturedAmount: 3000 }, 3000, true],
    ['beyond its authorization', { capturedAmount: 6000 }, 6000, true],
  ])('can be refunded up to what was captured: %s', async (what, more, captured, refunded) => {
    const charge = `ch_up_to_${what.replaceAll(' ', '_')}`;
    await card(charge, more);
    expect(await failureOf(stripe.refunds.create({ charge, amount: captured + 1 }))).toMatchObject({
      param: 'amount',
    });
    expect(await stripe.refunds.create({ charge })).toMatchObject({ amount: captured });
    expect(await stripe.charges.retrieve(charge)).toMatchObject({ amount_refunded: captured, refunded });
  });
});

describe('Stripe refusals', () => {
  test.each([
    ['disputed', 'charge_disputed'],
    ['failed', 'charge_not_refundable'],
    ['uncaptured', 'charge_not_refundable'],
  ])('a %s charge is %s', async (status, code) => {
    await card(`ch_is_${status}`, { status });
    expect(await failureOf(stripe.refunds.create({ charge: `ch_is_${status}` }))).toMatchObject({
      statusCode: 400,
      code,
    });
  });

  test('include refunds of disputed charges, which have a dispute', async () => {
    await card('ch_with_dispute', { status: 'disputed' });
    await card('ch_without_dispute');
    const disputesOf = async (charge: string) => (await stripe.disputes.list({ charge })).data;
    expect(await disputesOf('ch_with_dispute')).toMatchObject([
      { object: 'dispute', charge: 'ch_with_dispute', status: 'needs_response', is_charge_refundable: false },
    ]);
    expect(await disputesOf('ch_without_dispute')).toEqual([]);
    expect(await failureOf(disputesOf('ch_missing'))).toMatchObject({ code: 'resource_missing' });
  });

  test('name bad parameters', async () => {
    const refused = (params: object) => failureOf(stripe.refunds.create(params as Stripe.RefundCreateParams));
    expect(await refused({ charge: 'ch_params', amount: 1.5 })).toMatchObject({ param: 'amount' });
    expect(await refused({ charge: 'ch_params', amount: 0 })).toMatchObject({ param: 'amount' });
    expect(await refused({ charge: 'ch_params', reason: 'other' })).toMatchObject({ param: 'reason' });
    expect(await refused({ charge: 'ch_params', payment_intent: 'pi_params' })).toMatchObject({
      param: 'charge',
    });
    expect(await refused({ charge: 'ch_params', amuont: 5 })).toMatchObject({ code: 'parameter_unknown' });
    expect(await refused({})).toMatchObject({ code: 'parameter_missing' });
  });
});
