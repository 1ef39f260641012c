import { expect, onTestFinished, test, vi } from 'vitest';
import { braintreeClient, stripeClient } from '../../sandbox/clients.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { waitFor } from '../../support/wait-for.ts';

// What the conformance tests cannot see, because the adapters answer the same with and without it.

const { sandbox, control } = useSandbox({ autoSettle: false });

/** Until the end of the test, the sandbox's timers run out as the test advances them. */
function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

const moved = (transactionId: string) => control.refunds({ transactionId });
const arm = (fault: Record<string, unknown>) => control.fault({ operation: 'refund.create', ...fault });

/** Refunds 1.00 USD. @returns the refund's id, or the code of the refusal. */
async function refund(processor: string, transactionId: string, key: string, amount = 100): Promise<string> {
  if (processor === 'stripe') {
    const params = { charge: transactionId, amount };
    return await stripeClient(sandbox.url)
      .refunds.create(params, { idempotencyKey: key })
      .then(
        ({ id }) => id,
        (error: { code?: string; type: string }) => error.code ?? error.type,
      );
  }
  const options = { amount: (amount / 100).toFixed(2), orderId: 'ref', apiRequestKey: key };
  const { transactions } = braintreeClient(sandbox.url);
  return await transactions.refund(transactionId, options).then(
    ({ success, transaction, errors }) => (success ? transaction.id : (errors.deepErrors()[0]?.code ?? '')),
    (error: { type: string }) => error.type,
  );
}

const keys = {
  stripe: {
    unsettled: { id: 'ch_keys', status: 'uncaptured' },
    settled: 'succeeded',
    refusal: 'charge_not_refundable',
    replay: 'charge_not_refundable',
    inUse: 'idempotency_key_in_use',
    other: 'StripeIdempotencyError',
  },
  braintree: {
    unsettled: { id: 'keys', status: 'submitted_for_settlement' },
    settled: 'settled',
    refusal: '91506',
    replay: '915234',
    inUse: '915233',
    other: '915232',
  },
};

test.each(PROCESSORS)('%s keeps refusals and refunds under their key', async (processor) => {
  const { unsettled, settled, refusal, replay, inUse, other } = keys[processor];
  const { id } = unsettled;
  await control.transaction({ processor, amount: 5_000, currency: 'usd', ...unsettled });
  await arm({ processor, kind: 'rate-limit' });
  await refund(processor, id, 'key1');
  expect(await refund(processor, id, 'key1')).toBe(refusal);
  await control.changeTransaction(id, { status: settled });
  expect(await refund(processor, id, 'key1')).toBe(replay);

  await arm({ processor, kind: 'delay', delayMs: 10_000 });
  holdTimers();
  const first = refund(processor, id, 'key2');
  await waitFor('the refund', async () => (await moved(id)).length === 1);
  expect(await refund(processor, id, 'key2')).toBe(inUse);
  vi.advanceTimersByTime(10_000);
  const refundId = await first;
  expect(await refund(processor, id, 'key2')).toBe(refundId);
  expect(await refund(processor, id, 'key2', 101)).toBe(other);
  expect(await moved(id)).toMatchObject([{ id: refundId }]);
});

test('Stripe repeats a 500 although the refund was made', async () => {
  await arm({ processor: 'stripe', kind: 'error-500-after-apply' });
  for (const _ of ['first', 'again']) {
    expect(await refund('stripe', 'ch_stored500', 'key3')).toBe('StripeAPIError');
  }
  expect(await moved('ch_stored500')).toHaveLength(1);
});

test.each(PROCESSORS)('%s applies late what the caller gave up', async (processor) => {
  const id = processor === 'stripe' ? 'ch_late' : 'late';
  await arm({ processor, kind: 'timeout-late-apply', delayMs: 100 });
  await refund(processor, id, 'key4');
  expect(await moved(id)).toHaveLength(1);
  await arm({ processor, kind: 'reset-late-apply', delayMs: 10_000 });
  holdTimers();
  await refund(processor, id, 'key5');
  expect(await moved(id)).toHaveLength(1);
  vi.advanceTimersByTime(10_000);
  expect(await moved(id)).toHaveLength(2);
});

test('a fault with a transactionId meets only requests about the payment and its refunds', async () => {
  const stripe = stripeClient(sandbox.url);
  const { transactions } = braintreeClient(sandbox.url);
  const { id } = await stripe.refunds.create({ charge: 'ch_named' });
  const { transaction: credit } = await transactions.refund('named', { amount: '1.00' });
  const always = { operation: '*', kind: 'error-500', times: null };
  await control.fault({ processor: 'stripe', ...always, transactionId: 'pi_named' });
  await control.fault({ processor: 'braintree', ...always, transactionId: 'named' });
  const requests = [
    stripe.charges.retrieve('ch_named'),
    stripe.refunds.retrieve(id),
    stripe.refunds.list({ charge: 'ch_named' }),
    transactions.find('named'),
    transactions.void(credit.id),
  ];
  const outcomes = await Promise.allSettled(requests);
  expect(outcomes.map(({ status }) => status)).toEqual(requests.map(() => 'rejected'));
  await stripe.charges.retrieve('ch_other');
  await transactions.find('other');
});
