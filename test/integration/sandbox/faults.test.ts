import { describe, expect, test } from 'vitest';
import { braintreeClient, stripeClient } from '../../sandbox/clients.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { waitFor } from '../../support/wait-for.ts';

const { sandbox, control } = useSandbox({ autoSettle: false });

interface Failure {
  type?: string;
  statusCode?: number;
  message?: string;
}

const failureOf = (promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    (value) => ({ type: 'resolved', message: JSON.stringify(value) }),
    (error: Failure) => error,
  );

describe('faults', () => {
  test('reset-late-apply applies after the connection was reset', async () => {
    const creations = [
      () => stripeClient(sandbox.url).refunds.create({ charge: 'ch_late' }),
      () => braintreeClient(sandbox.url).transactions.refund('ch-late'),
    ];
    for (const [index, processor] of ['stripe', 'braintree'].entries()) {
      const fault = { processor, operation: 'refund.create', kind: 'reset-late-apply', delayMs: 1_000 };
      await control.fault(fault);
      const transactionId = ['ch_late', 'ch-late'][index] ?? '';
      expect(await failureOf(creations[index]?.() ?? Promise.resolve())).not.toMatchObject({
        type: 'resolved',
      });
      expect(await control.refunds({ transactionId })).toHaveLength(0);
      await waitFor(
        'the refund to be applied',
        async () => (await control.refunds({ transactionId })).length === 1,
      );
    }
  });

  test('counts how often each kind was injected, also after faults were cleared', async () => {
    const before = (await control.strikes())['rate-limit'] ?? 0;
    await control.fault({ processor: 'stripe', operation: 'refund.find', kind: 'rate-limit', times: 2 });
    const list = () => failureOf(stripeClient(sandbox.url).refunds.list({ charge: 'ch_counted' }));
    await list();
    await control.clearFaults();
    await list();
    expect((await control.strikes())['rate-limit']).toBe(before + 1);
  });

  test('timeout closes the socket in the end', async () => {
    await control.fault({ processor: 'stripe', operation: 'transaction.get', kind: 'timeout', delayMs: 50 });
    const request = fetch(`${sandbox.url}/v1/charges/ch_hangs`, {
      headers: { authorization: 'Bearer sk_test_1' },
    });
    await expect(request).rejects.toThrow('fetch failed');
  });

  test.each(['stripe', 'braintree'] as const)(
    'timeout-late-apply applies a %s refund after the caller gave up',
    async (processor) => {
      const id = processor === 'stripe' ? 'ch_afterwards' : 'afterwards';
      await control.fault({
        processor,
        operation: 'refund.create',
        kind: 'timeout-late-apply',
        delayMs: 300,
      });
      const options = { timeoutMs: 100 };
      const refund =
        processor === 'stripe'
          ? stripeClient(sandbox.url, 'sk_test_late', options).refunds.create({ charge: id })
          : braintreeClient(sandbox.url, options).transactions.refund(id);
      await failureOf(refund);
      expect(await control.refunds({ transactionId: id })).toEqual([]);
      await waitFor('the refund to be applied', async () => {
        const moved = await control.refunds({ transactionId: id });
        return moved.length === 1;
      });
    },
  );

  test('with a transactionId meet only requests about the payment and its refunds', async () => {
    const stripe = stripeClient(sandbox.url);
    const { id } = await stripe.refunds.create({ charge: 'ch_named' });
    const { transactions } = braintreeClient(sandbox.url);
    const { transaction: credit } = await transactions.refund('namedSale', { amount: '1.00' });
    const arm = async (processor: string, transactionId: string) =>
      await control.fault({ processor, operation: '*', kind: 'error-500', times: null, transactionId });
    await arm('stripe', 'pi_named');
    await arm('braintree', 'namedSale');
    expect((await control.faults()).map(({ transactionId }) => transactionId)).toEqual([
      'pi_named',
      'namedSale',
    ]);
    const struck = [
      stripe.charges.retrieve('ch_named'),
      stripe.refunds.retrieve(id),
      stripe.refunds.list({ charge: 'ch_named' }),
      stripe.refunds.create({ payment_intent: 'pi_named' }),
      stripe.refunds.cancel(id),
      transactions.find('namedSale'),
      transactions.find(credit.id),
      transactions.refund('namedSale', { amount: '1.00' }),
      transactions.void(credit.id),
    ];
    const outcomes = await Promise.allSettled(struck);
    expect(outcomes.map(({ status }) => status)).toEqual(struck.map(() => 'rejected'));
    await stripe.refunds.create({ charge: 'ch_other' });
    await transactions.find('otherSale');
  });

  test('meet only their operation, as often as requested', async () => {
    const stripe = stripeClient(sandbox.url);
    const { id } = await stripe.refunds.create({ charge: 'ch_aimed' });
    await control.fault({ processor: 'stripe', operation: 'refund.get', kind: 'error-500', times: 2 });
    await stripe.charges.retrieve('ch_aimed');
    await stripe.refunds.list({ charge: 'ch_aimed' });
    const outcomes = [1, 2, 3].map(() => stripe.refunds.retrieve(id));
    const settled = await Promise.allSettled(outcomes);
    expect(settled.filter((outcome) => outcome.status === 'rejected')).toHaveLength(2);
    await control.fault({ processor: 'stripe', operation: 'refund.cancel', kind: 'error-503' });
    expect(await failureOf(stripe.refunds.cancel(id))).toMatchObject({ statusCode: 503 });
    expect((await stripe.refunds.cancel(id)).status).toBe('canceled');
  });

  test('distinguish a Braintree sale from a credit', async () => {
    const { transactions } = braintreeClient(sandbox.url);
    const { transaction: credit } = await transactions.refund('aimedSale', { amount: '1.00' });
    const arm = (operation: string) =>
      control.fault({ processor: 'braintree', operation, kind: 'error-500' });
    await arm('refund.get');
    await transactions.find('aimedSale');
    expect(await failureOf(transactions.find(credit.id))).toMatchObject({ type: 'serverError' });
    await arm('transaction.get');
    await transactions.find(credit.id);
    expect(await failureOf(transactions.find('aimedSale'))).toMatchObject({ type: 'serverError' });
    await arm('refund.cancel');
    expect(await failureOf(transactions.void(credit.id))).toMatchObject({ type: 'serverError' });
    await control.transaction({
      processor: 'braintree',
      id: 'aimedVoid',
      amount: 1,
      currency: 'usd',
      status: 'authorized',
    });
    await arm('refund.create');
    expect(await failureOf(transactions.void('aimedVoid'))).toMatchObject({ type: 'serverError' });
    expect((await transactions.find('aimedVoid')).status).toBe('authorized');
  });
});
