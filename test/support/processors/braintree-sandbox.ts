import { expect } from 'vitest';
import {
  type BraintreeRefundOptions,
  type BraintreeTransactions,
  braintreeClient,
} from '../../sandbox/clients.ts';
import { stoppedClock } from '../clocks.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { useSandbox } from './use-sandbox.ts';

/** A sandbox on a stopped clock, asked by Braintree's SDK. */
export function useBraintreeSandbox() {
  const clock = stoppedClock();
  const { sandbox, control } = useSandbox({ now: () => clock.ms });
  const transactions = madeBeforeTests(
    'The client of the sandbox',
    () => braintreeClient(sandbox.url).transactions,
  );
  return {
    clock,
    sandbox,
    control,
    transactions,
    /** A settled sale of 50.00 USD. */
    sale: (id: string, more: Record<string, unknown> = {}) =>
      control.transaction({ processor: 'braintree', id, amount: 5000, currency: 'usd', ...more }),
    /** The refunds that moved money of a sale. */
    moved: (transactionId: string) => control.refunds({ processor: 'braintree', transactionId }),
    /** The credit of a refund, which has to succeed. */
    refunded: async (id: string, options?: BraintreeRefundOptions) => {
      const reply = await transactions.refund(id, options);
      expect(reply.success, reply.message).toBe(true);
      return reply.transaction;
    },
  };
}

/** The codes of a reply that has to be a refusal. */
export async function codesOf(reply: ReturnType<BraintreeTransactions['refund']>): Promise<string[]> {
  const { success, errors, message } = await reply;
  expect(success).toBe(false);
  expect(message).not.toBe('');
  return errors.deepErrors().map((error) => error.code);
}

/** The type of what the SDK throws. */
export function typeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'resolved',
    (error: { type?: string }) => error.type ?? 'untyped',
  );
}
