import { describe, expect, test } from 'vitest';
import { braintreeClient } from '../../sandbox/clients.ts';
import { codesOf, typeOf, useBraintreeSandbox } from '../../support/processors/braintree-sandbox.ts';

const { clock, sandbox, control, transactions, sale, moved, refunded } = useBraintreeSandbox();

describe('Braintree transactions', () => {
  test('a refund without amount takes the rest, and one without order id copies that of the sale', async () => {
    await sale('rest');
    await refunded('rest', { amount: '20.00', orderId: 'ref_a' });
    const rest = await refunded('rest');
    expect(rest.amount).toBe('30.00');
    expect(rest.orderId).toBe((await transactions.find('rest')).orderId);
  });

  test('an unknown id is a settled sale of 100.00 USD, unless it has the form of another kind', async () => {
    const found = await transactions.find('neverSeen');
    expect(found).toMatchObject({
      amount: '100.00',
      currencyIsoCode: 'USD',
      status: 'settled',
      type: 'sale',
    });
    expect((await refunded('neverSeenEither')).amount).toBe('100.00');
    for (const id of ['missing1', 'ch_123456', 'pi_123456', 're_123456', 'credit_unseen1', 'ab']) {
      expect(await typeOf(transactions.find(id)), id).toBe('notFoundError');
      expect(await typeOf(transactions.refund(id)), id).toBe('notFoundError');
    }
  });

  test('an order id keeps its markup', async () => {
    const credit = await refunded('escapes', { orderId: '<a & "b">' });
    expect((await transactions.find(credit.id)).orderId).toBe('<a & "b">');
  });

  test('a credit settles in time, and a sale only on request', async () => {
    await sale('settles', { status: 'settling' });
    const credit = await refunded('settles', { amount: '1.00' });
    clock.ms += 1499;
    expect((await transactions.find(credit.id)).status).toBe('submitted_for_settlement');
    clock.ms += 1;
    expect((await transactions.find(credit.id)).status).toBe('settled');
    expect((await transactions.find('settles')).status).toBe('settling');
  });
});

describe('Braintree credentials', () => {
  test.each([
    [{ publicKey: 'invalid' }, 'authenticationError'],
    [{ privateKey: 'invalid' }, 'authenticationError'],
    [{ publicKey: 'forbidden' }, 'authorizationError'],
  ])('%o is an %s', async (keys, type) => {
    expect(await typeOf(braintreeClient(sandbox.url, keys).transactions.find('any1'))).toBe(type);
  });

  test('list the merchant accounts when they are valid', async () => {
    const { gateway } = braintreeClient(sandbox.url);
    // The published types do not know that this takes a callback.
    const merchantAccount = gateway.merchantAccount as unknown as {
      all(callback: (error: Error | null, accounts: unknown[]) => void): void;
    };
    const accounts = await new Promise<unknown[]>((resolve, reject) =>
      merchantAccount.all((error, all) => (error ? reject(error) : resolve(all))),
    );
    expect(accounts).toMatchObject([{ id: 'sandbox_usd', currencyIsoCode: 'USD' }]);
  });
});

describe('Braintree refusals', () => {
  test.each(['authorized', 'submitted_for_settlement'])(
    'refuses a refund of a sale %s with 91506',
    async (status) => {
      await sale(`not-${status}`, { status });
      expect(await codesOf(transactions.refund(`not-${status}`, { amount: '1.00' }))).toEqual(['91506']);
      await control.changeTransaction(`not-${status}`, { status: 'settled' });
      await refunded(`not-${status}`, { amount: '1.00' });
    },
  );

  test('refuses more than the rest with 91521, nothing left with 91512 and a credit with 91505', async () => {
    await sale('limits');
    expect(await codesOf(transactions.refund('limits', { amount: '50.01' }))).toEqual(['91521']);
    const credit = await refunded('limits');
    expect(await codesOf(transactions.refund('limits', { amount: '0.01' }))).toEqual(['91512']);
    expect(await codesOf(transactions.refund(credit.id))).toEqual(['91505']);
    expect(await moved('limits')).toHaveLength(1);
  });

  test.each([
    ['-1.00', '81501'],
    ['0.00', '81531'],
    ['1.001', '81503'],
    ['1,00', '81503'],
  ])('an amount of %s is %s', async (amount, code) => {
    expect(await codesOf(transactions.refund('amounts', { amount }))).toEqual([code]);
  });

  test('refuses an order id of 256 characters with 91501', async () => {
    expect(await codesOf(transactions.refund('longOrder', { orderId: 'x'.repeat(256) }))).toEqual(['91501']);
  });

  test('answers a declined refund with the declined transaction and no validation errors', async () => {
    const reply = await transactions.refund('declined1', { orderId: 'ref_d' });
    expect(reply.success).toBe(false);
    expect(reply.errors.deepErrors()).toEqual([]);
    expect(reply.transaction).toMatchObject({ status: 'processor_declined', processorResponseCode: '2046' });
    expect(await moved('declined1')).toEqual([]);
  });
});

describe('Braintree voids', () => {
  test('are refused for a settled and for an unknown sale', async () => {
    expect(await codesOf(transactions.void('voidSettled'))).toEqual(['91504']);
    expect(await typeOf(transactions.void('missing1'))).toBe('notFoundError');
  });

  test('of a credit release its amount until it settles', async () => {
    await sale('voidCredit');
    const first = await refunded('voidCredit');
    expect((await transactions.void(first.id)).transaction.status).toBe('voided');
    const second = await refunded('voidCredit');
    clock.ms += 1500;
    expect(await codesOf(transactions.void(second.id))).toEqual(['91504']);
    expect((await moved('voidCredit')).map((refund) => refund.status)).toEqual(['voided', 'settled']);
  });
});
