import { describe, expect, test, vi } from 'vitest';
import { type BraintreeReply, braintreeClient } from '../../sandbox/clients.ts';
import { madeBeforeTests } from '../../support/made-before-tests.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

const { sandbox, control } = useSandbox({ autoSettle: false });
const transactions = madeBeforeTests('The client', () => braintreeClient(sandbox.url).transactions);

/** A settled sale of 50.00 USD. */
const sale = (id: string, more: Record<string, unknown> = {}) =>
  control.transaction({ processor: 'braintree', id, amount: 5000, currency: 'usd', ...more });
const moved = (transactionId: string) => control.refunds({ processor: 'braintree', transactionId });

/** The codes of a reply that has to be a refusal. */
async function codesOf(reply: Promise<BraintreeReply>): Promise<string[]> {
  const { success, errors, message } = await reply;
  expect(success).toBe(false);
  expect(message).not.toBe('');
  return errors.deepErrors().map((error) => error.code);
}

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
    await expect(transactions.refund('missing1', key)).rejects.toMatchObject({ type: 'notFoundError' });
    await expect(transactions.refund('missing1', key)).rejects.toMatchObject({ type: 'notFoundError' });
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
