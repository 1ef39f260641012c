import { afterEach, expect, test } from 'vitest';
import { stripeClient } from '../../sandbox/clients.ts';
import { sandboxProcessors, webhookEndpoint } from '../../sandbox/processors.ts';
import { useScriptedServers } from '../../support/processors/scripted-server.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { waitFor } from '../../support/wait-for.ts';

// What Stripe's documents say of charges that have to do with connected accounts, against the sandbox.

const { sandbox, control } = useSandbox();
const serve = useScriptedServers();
const seller = 'acct_seller1';

afterEach(() => control.account(seller, { balance: null }));

const stripe = () => stripeClient(sandbox.url);
const inBehalfOf = (stripeAccount: string) => ({ stripeAccount });

const charge = (fields: Record<string, unknown> = {}) =>
  control.transaction({ processor: 'stripe', amount: 1_000, currency: 'usd', ...fields });

test('an account that is not connected is refused with 403 account_invalid', async () => {
  const asked = stripe().charges.retrieve('ch_any', {}, inBehalfOf('acct_missing'));
  await expect(asked).rejects.toMatchObject({
    ...{ statusCode: 403, code: 'account_invalid', type: 'StripePermissionError' },
    message: expect.stringContaining("does not have access to account 'acct_missing'"),
  });
});

test('refunds in parts reverse in proportion, and the last one all that is left', async () => {
  const id = await charge({ transferTo: seller, applicationFee: 100 });
  await control.account(seller, { balance: 2_000 });
  for (const amount of [333, 333, 334])
    await stripe().refunds.create({
      ...{ charge: id, amount, reverse_transfer: true, refund_application_fee: true },
    });
  const moved = await control.refunds({ transactionId: id });
  expect(moved.map((each) => [each.transferReversed, each.applicationFeeRefunded])).toEqual([
    ...[
      [333, 33],
      [333, 33],
      [334, 34],
    ],
  ]);
  expect(await control.account(seller, {})).toMatchObject({ balance: 2_000 - 1_000 + 100 });
});

test.each([
  [{}, { reverse_transfer: true }, 'does not have an associated transfer'],
  [{}, { refund_application_fee: true }, 'has no application fee'],
  [{ transferTo: seller, applicationFee: 100 }, { refund_application_fee: true }, 'transfer is reversed'],
])('a charge with %j is not refunded with %j', async (fields, parameters, words) => {
  const id = await charge(fields);
  const asked = stripe().refunds.create({ charge: id, ...parameters });
  await expect(asked).rejects.toMatchObject({ statusCode: 400, message: expect.stringContaining(words) });
  expect(await control.refunds({ transactionId: id })).toEqual([]);
});

test('a refund of a connected account that fails gives its balance back', async () => {
  await control.account(seller, { balance: 1_000 });
  const id = await charge({ connectedAccount: seller });
  const { id: refund } = await stripe().refunds.create({ charge: id, amount: 400 }, inBehalfOf(seller));
  expect(await control.account(seller, {})).toMatchObject({ balance: 600 });
  await control.driveRefund(refund, { status: 'failed' });
  expect(await control.account(seller, {})).toMatchObject({ balance: 1_000 });
});

test.each([
  ['a fee without a connected account', { applicationFee: 1 }],
  ['a fee above the amount', { transferTo: seller, applicationFee: 1_001 }],
  ['a transfer from a connected account', { transferTo: seller, connectedAccount: 'acct_other' }],
])('the control API refuses %s', async (_, fields) => {
  await expect(charge(fields)).rejects.toThrow(/^400 (transferTo|applicationFee): /);
});

test('events of a connected account name it, and are signed with the secret of their own endpoint', async () => {
  const { seen, url } = await serve((_, response) => response.end());
  await control.settings({ webhooks: [webhookEndpoint(sandboxProcessors.stripe, 'test', url)] });
  const { webhookSecret, connectWebhookSecret } = sandboxProcessors.stripe.credentials('test');
  for (const [account, secret] of [
    [seller, connectWebhookSecret],
    [null, webhookSecret],
  ] as const) {
    const connected = account === null ? {} : { connectedAccount: account };
    const about = account === null ? {} : inBehalfOf(account);
    await stripe().refunds.create({ charge: await charge(connected) }, about);
    const { body, headers } = await waitFor('an event', () => seen.shift());
    const signature = String(headers['stripe-signature']);
    const event = stripe().webhooks.constructEvent(body, signature, secret);
    expect(event.account ?? null).toBe(account);
    await waitFor('the other events', () => seen.length === 2);
    seen.length = 0;
  }
  await control.settings({ webhooks: [] });
});
