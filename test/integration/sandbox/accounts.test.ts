import { expect, test } from 'vitest';
import { braintreeClient, stripeClient } from '../../sandbox/clients.ts';
import { PROCESSORS, type ProcessorName, sandboxCredentials } from '../../sandbox/processors.ts';
import { connect, options } from '../../support/processors/processor-variants.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

const { sandbox, control } = useSandbox();
const payment = (fields: object) => control.transaction({ amount: 10_000, currency: 'usd', ...fields });

/** Past the adapters, which read a payment before they refund it. */
const refundByDefault: Record<ProcessorName, (id: string) => Promise<unknown>> = {
  stripe: (charge) => stripeClient(sandbox.url).refunds.create({ charge }),
  braintree: (id) => braintreeClient(sandbox.url).transactions.refund(id),
};

test.each(PROCESSORS)(
  'at %s, what belongs to one account is unknown to another, and listed when refunded there',
  async (name) => {
    const by = (account?: string) =>
      connect(name, sandboxCredentials('test', sandbox.url, account)[name], sandbox.url);
    const own = await payment({ processor: name });
    const theirs = await payment({ processor: name, account: 'shop_eu' });
    const kinds = await Promise.all(
      [own, theirs].flatMap((id) =>
        [undefined, 'shop_eu', 'shop_us'].map(
          async (account) => (await by(account).getPayment(id, options)).kind,
        ),
      ),
    );
    expect(kinds).toEqual(['found', 'not-found', 'not-found', 'not-found', 'found', 'not-found']);
    const before = await control.misdirected();
    await expect(refundByDefault[name](theirs)).rejects.toThrow();
    expect(await by('shop_eu').createRefund(submissionFor(theirs), options)).toMatchObject({
      kind: 'accepted',
    });
    expect((await control.misdirected()).slice(before.length)).toMatchObject([
      { processor: name, call: expect.stringContaining(theirs) },
    ]);
    expect(await control.refunds({ transactionId: theirs })).toMatchObject([{ account: 'shop_eu' }]);
  },
);

test('a connected account is connected to the account that has a payment of it', async () => {
  const seller = 'acct_seller9';
  const id = await payment({ processor: 'stripe', account: 'shop_eu', connectedAccount: seller });
  const by = (key: string) => stripeClient(sandbox.url, key);
  const about = { stripeAccount: seller };
  expect(await by('sk_test_sandbox_at_shop_eu').charges.retrieve(id, {}, about)).toMatchObject({ id });
  const before = await control.misdirected();
  const refused = { statusCode: 403, code: 'account_invalid' };
  await expect(by('sk_test_sandbox').charges.retrieve(id, {}, about)).rejects.toMatchObject(refused);
  expect(await control.misdirected()).toEqual(before);
  await expect(by('sk_test_sandbox').refunds.create({ charge: id }, about)).rejects.toMatchObject(refused);
  expect((await control.misdirected()).slice(before.length)).toMatchObject([
    { connectedAccount: seller, call: 'POST /v1/refunds' },
  ]);
});
