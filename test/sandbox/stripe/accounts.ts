import type Stripe from 'stripe';
import type { StripeRequest } from './processor.ts';

/** The account of the key, or the connected one. Keys that name no account belong to one. */
export function retrieveAccount({ scope: { account, connectedAccount } }: StripeRequest) {
  const id = connectedAccount ?? (account === undefined ? 'acct_sandbox' : `acct_sandbox_${account}`);
  return {
    ...{ id, object: 'account', type: 'standard', email: null },
    ...{ charges_enabled: true, details_submitted: true, payouts_enabled: true },
  } satisfies Stripe.Account;
}
