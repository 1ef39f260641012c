import { describe, expect, test, vi } from 'vitest';
import { codesOf, typeOf, useBraintreeSandbox } from '../../support/processors/braintree-sandbox.ts';

const { control, transactions, sale, moved, refunded } = useBraintreeSandbox();

describe('Braintree API request keys', () => {
  const once = (id: string, amount = '10.00') =>
    transactions.refund(id, { amount, orderId: `ref_${id}`, apiRequestKey: `key_${id}` });

  test('answer a repeated request with the first refund as it is now', async () => {
    await sale('keyed');
    const first = await once('keyed');
    await control.driveRefund(first.transaction.id, { status: 'settling' });
    const second = await once('keyed');
    expect(second.transaction).toMatchObject({ id: first.transaction.id, status: 'settling' });
    expect(await moved('keyed')).toHaveLength(1);
  });

  test('refuse another request with 915232', async () => {
    await once('keyedOther');
    expect(await codesOf(once('keyedOther', '10.01'))).toEqual(['915232']);
    expect(await moved('keyedOther')).toHaveLength(1);
  });

  test('refuse every request after a rejected one with 915234', async () => {
    await sale('keyedRejected', { status: 'submitted_for_settlement' });
    expect(await codesOf(once('keyedRejected'))).toEqual(['91506']);
    await control.changeTransaction('keyedRejected', { status: 'settled' });
    expect(await codesOf(once('keyedRejected'))).toEqual(['915234']);
  });

  test('stay unused after a request for an unknown sale', async () => {
    const key = { apiRequestKey: 'key_missing' };
    expect(await typeOf(transactions.refund('missing1', key))).toBe('notFoundError');
    expect(await typeOf(transactions.refund('missing1', key))).toBe('notFoundError');
  });

  test('refuse a request with 915233 while the first one is in progress', async () => {
    await control.fault({ processor: 'braintree', operation: 'refund.create', kind: 'delay', delayMs: 1000 });
    const first = once('keyedFlight');
    await vi.waitFor(async () => expect(await moved('keyedFlight')).toHaveLength(1));
    expect(await codesOf(once('keyedFlight'))).toEqual(['915233']);
    expect((await once('keyedFlight')).success).toBe(false);
    expect((await first).success).toBe(true);
    expect((await once('keyedFlight')).transaction.id).toBe((await first).transaction.id);
  });
});

describe('the Braintree search', () => {
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

  test('finds credits and sales by order id', async () => {
    const credit = await refunded('searched', { amount: '1.00', orderId: 'ref_searched' });
    expect(await idsFor('ref_searched')).toEqual([credit.id]);
    expect(await idsFor('ref_nobody')).toEqual([]);
    const copied = await refunded('searched', { amount: '1.00' });
    const orderId = copied.orderId ?? '';
    expect((await idsFor(orderId)).sort()).toEqual([copied.id, 'searched'].sort());
    expect(await idsFor(orderId, true)).toEqual([copied.id]);
  });
});
