import { describe, expect, test, vi } from 'vitest';
import { braintreeClient } from '../../sandbox/clients.ts';
import { codesOf, typeOf, useBraintreeSandbox } from '../../support/processors/braintree-sandbox.ts';

const { sandbox, control, transactions, sale, moved, refunded } = useBraintreeSandbox();

describe('API request keys', () => {
  const once = (id: string, amount = '10.00') =>
    transactions.refund(id, { amount, orderId: `ref_${id}`, apiRequestKey: `key_${id}` });

  test('the same request finds the first refund as it is now, and money moves once', async () => {
    await sale('keyed');
    const first = await once('keyed');
    await control.driveRefund(first.transaction.id, { status: 'settling' });
    const second = await once('keyed');
    expect(second.transaction).toMatchObject({ id: first.transaction.id, status: 'settling' });
    expect(await moved('keyed')).toHaveLength(1);
  });

  test('another request under the key is 915232', async () => {
    await once('keyedOther');
    expect(await codesOf(once('keyedOther', '10.01'))).toEqual(['915232']);
    expect(await moved('keyedOther')).toHaveLength(1);
  });

  test('a key whose request was rejected is spent: 915234', async () => {
    await sale('keyedRejected', { status: 'submitted_for_settlement' });
    expect(await codesOf(once('keyedRejected'))).toEqual(['91506']);
    await control.changeTransaction('keyedRejected', { status: 'settled' });
    expect(await codesOf(once('keyedRejected'))).toEqual(['915234']);
  });

  test('an unknown sale does not spend the key', async () => {
    const key = { apiRequestKey: 'key_missing' };
    expect(await typeOf(transactions.refund('missing1', key))).toBe('notFoundError');
    expect(await typeOf(transactions.refund('missing1', key))).toBe('notFoundError');
  });

  test('a key whose first answer is still held back is 915233', async () => {
    await control.fault({ processor: 'braintree', operation: 'refund.create', kind: 'delay', delayMs: 1000 });
    const first = once('keyedFlight');
    await vi.waitFor(async () => expect(await moved('keyedFlight')).toHaveLength(1));
    expect(await codesOf(once('keyedFlight'))).toEqual(['915233']);
    expect((await once('keyedFlight')).success).toBe(false);
    expect((await first).success).toBe(true);
    expect((await once('keyedFlight')).transaction.id).toBe((await first).transaction.id);
  });
});

describe('search', () => {
  const idsFor = (orderId: string, creditsOnly = false) =>
    new Promise<string[]>((resolve, reject) => {
      transactions.search(
        (search) => {
          search.orderId().is(orderId);
          if (creditsOnly) search.type().is('credit');
        },
        (error, response) => (error ? reject(error) : resolve(response.ids)),
      );
    });

  test('by order id finds credits and sales, and only those', async () => {
    const credit = await refunded('searched', { amount: '1.00', orderId: 'ref_searched' });
    expect(await idsFor('ref_searched')).toEqual([credit.id]);
    expect(await idsFor('ref_nobody')).toEqual([]);
    const copied = await refunded('searched', { amount: '1.00' });
    const orderId = copied.orderId ?? '';
    expect((await idsFor(orderId)).sort()).toEqual([copied.id, 'searched'].sort());
    expect(await idsFor(orderId, true)).toEqual([copied.id]);
  });

  test('its second step delivers the transactions themselves', async () => {
    await refunded('streamed', { amount: '1.00', orderId: 'ref_streamed' });
    await refunded('streamed', { amount: '2.00', orderId: 'ref_streamed' });
    const { gateway } = braintreeClient(sandbox.url);
    const stream = gateway.transaction.search((search) => search.orderId().is('ref_streamed'));
    const amounts: string[] = [];
    for await (const found of stream as AsyncIterable<{ amount: string }>) amounts.push(found.amount);
    expect(amounts.sort()).toEqual(['1.00', '2.00']);
  });
});
