import Stripe from 'stripe';
import { stripeClient } from '../../sandbox/clients.ts';
import { stoppedClock } from '../clocks.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { useSandbox } from './use-sandbox.ts';

/** A sandbox on a stopped clock, asked by Stripe's SDK. */
export function useStripeSandbox() {
  const clock = stoppedClock();
  const { sandbox, control } = useSandbox({ now: () => clock.ms });
  const stripe = madeBeforeTests('The client of the sandbox', () => stripeClient(sandbox.url));
  return {
    clock,
    sandbox,
    control,
    stripe,
    /** A payment of 50.00 USD by card. */
    card: (id: string, more: Record<string, unknown> = {}) =>
      control.transaction({ processor: 'stripe', id, amount: 5000, currency: 'usd', ...more }),
  };
}

/**
 * What the SDK throws.
 * @throws what else comes of it, a result as well.
 */
export async function failureOf(promise: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const error = await promise.then(
    () => new Error('resolved'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  return error;
}
